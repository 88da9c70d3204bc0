package sink

// Copilot gives the file to its model with every request, so it is short.
var copilot = Consumer{
	Name:  "copilot",
	About: "an instructions file of ours in .github/instructions of a project",
	Mode:  ModeProject,
	Open: func(e Env, c Choice) (Sink, error) {
		return open(project("copilot", c, ".github/instructions", ".github", ownFile{
			name: "session-migrator.instructions.md", units: 2_000,
			front: "---\napplyTo: \"**\"\ndescription: \"" + about + "\"\n---\n",
		}), e, c), nil
	},
}
