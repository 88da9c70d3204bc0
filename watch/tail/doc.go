// Package tail reads the whole lines added to one rollout since a cursor,
// from a plain file or a zstd one, and never more than that.
//
// The way of the data:
//
//	[1] Open: look at the path, open it read-only without following a link or
//	    waiting on a pipe, and check with fingerprints that the bytes before
//	    the cursor are still the bytes it was taken from
//	[2] Next: find the next '\n'; a line that lies in the buffer is returned
//	    without a copy
//	[3] Next, for a line longer than the buffer: ask Options.Classify how much
//	    of it is wanted and let the rest pass unread
//	[4] Cursor: how far the returned lines reach, to be stored with what was
//	    made of them
//
// All offsets are logical: bytes of the uncompressed content. A cursor taken
// from x.jsonl therefore continues in x.jsonl.zst and the other way round.
//
// A line is consumed only when its '\n' is there. What follows the last '\n'
// stays for the next pass, however long that takes.
//
// Nothing here writes, locks or changes the file.
package tail
