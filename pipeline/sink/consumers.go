package sink

// Consumers gives all consumers, each with a file of its own, in the order in
// which they are listed.
func Consumers() []Consumer {
	return []Consumer{
		drop, openclaw, obsidian, cursor, windsurf, copilot, handoff,
	}
}
