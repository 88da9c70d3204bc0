package sink

// Windsurf takes 12,000 characters of a rule.
var windsurf = Consumer{
	Name:  "windsurf",
	About: "a rule of ours in .windsurf/rules of a project, read on demand",
	Mode:  ModeProject,
	Open: func(e Env, c Choice) (Sink, error) {
		return open(project("windsurf", c, ".windsurf/rules", ".windsurf", ownFile{
			name: "session-migrator.md", units: 12_000, document: true,
			front: "---\ntrigger: model_decision\ndescription: \"" + about + "\"\n---\n",
		}), e, c), nil
	},
}
