package sink

// Consumers gives all consumers, each with a file of its own, in the order in
// which they are listed.
func Consumers() []Consumer {
	return []Consumer{
		drop, workbuddy, workbuddyGlobal, codebuddy, claude, openclaw, obsidian,
		agentsMD, gemini, cursor, windsurf, copilot, handoff,
	}
}
