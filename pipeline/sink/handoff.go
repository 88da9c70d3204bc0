package sink

// Agents that look for HANDOFF.md want less than 100 lines, and rewrite it.
var handoff = Consumer{
	Name:  "handoff",
	About: "HANDOFF.md of a project, where there is none or it is ours",
	Mode:  ModeProject,
	Open: func(e Env, c Choice) (Sink, error) {
		return open(project("handoff", c, ".", ".", ownFile{
			name: "HANDOFF.md", units: 12_000, lines: 99, document: true,
		}), e, c), nil
	},
}
