package sink

import "github.com/session-migrator/session-migrator/pipeline/sink/block"

// Gemini CLI loads GEMINI.md of the folder it is started in and of those
// above, whole, with what a path after @ names. AGENTS.md it reads only where
// its settings say so. No length was found at which it cuts; the file is kept
// to what Codex takes of AGENTS.md.
var gemini = Consumer{
	Name:  "gemini",
	About: "lines in GEMINI.md of a project",
	Mode:  ModeProject,
	Open: func(e Env, c Choice) (Sink, error) {
		return open(project("gemini", c, ".", ".", blockFile{
			name: "GEMINI.md", limits: block.Limits{Bytes: 32 << 10}, units: maxBlockUnits, bytes: 1000, row: rowID,
		}), e, c), nil
	},
}
