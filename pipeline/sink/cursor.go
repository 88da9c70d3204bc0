package sink

// Cursor skips a rule without a word whose front matter is malformed.
var cursor = Consumer{
	Name:  "cursor",
	About: "a rule of ours in .cursor/rules of a project, read on demand",
	Mode:  ModeProject,
	Open: func(e Env, c Choice) (Sink, error) {
		return open(project("cursor", c, ".cursor/rules", ".cursor", ownFile{
			name: "session-migrator.mdc", units: 12_000, document: true,
			front: "---\ndescription: \"" + about + "\"\nalwaysApply: false\n---\n",
		}), e, c), nil
	},
}
