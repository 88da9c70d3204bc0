// Package rollout reads the session files of Codex CLI, of every version, line
// by line, and turns them into the neutral words of package transcript.
//
// The way of the data, for each line:
//
//	[1] Classify looks at its first bytes and says how much of it is needed;
//	[2] Parser.Line checks its grammar and finds type, time, ordinal and payload,
//	    salvaging whole records out of a line that a crash damaged;
//	[3] one file per line type takes the few fields that matter: session_meta,
//	    response_item, event_msg, turn_context, compacted, token_usage_record;
//	[4] turns, rollbacks, copies of a parent's history and usage are followed in
//	    State, which is stored beside the cursor, so that reading goes on later
//	    exactly as if the file had been read in one pass.
//
// Response items are the transcript; events repeat them and only carry marks.
// The package reads no file and no clock and keeps nothing between parsers.
package rollout

// Version is the version of the parser: it rises when the data derived from
// the same lines would differ.
func Version() int { return 4 }
