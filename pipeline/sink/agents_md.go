package sink

import "github.com/session-migrator/session-migrator/pipeline/sink/block"

// Codex reads 32,768 bytes of all AGENTS.md files together; others cut at
// lengths of their own.
var agentsMD = Consumer{
	Name:  "agents-md",
	About: "lines in AGENTS.md of a project",
	Mode:  ModeProject,
	Open: func(e Env, c Choice) (Sink, error) {
		return open(project("agents-md", c, ".", ".", blockFile{
			name: "AGENTS.md", limits: block.Limits{Bytes: 32 << 10}, units: maxBlockUnits, bytes: 1000, row: rowID,
		}), e, c), nil
	},
}
