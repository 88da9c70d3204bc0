// Package transcript holds the words that all other packages speak in:
// rollouts, threads, turns and items, and the delta that a reader of one
// agent's format makes out of new lines.
//
// The way of the data:
//
//	[1] a format reader (pipeline/rollout) turns the lines of one file into a Delta;
//	[2] the store keeps the items of each Rollout and joins rollouts into Threads;
//	[3] compress, memory and the MCP server read Threads and Items.
//
// It imports nothing of ours and does nothing: no file, no clock.
package transcript
