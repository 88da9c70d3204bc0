// Package search finds what was said, over all threads of one cache.
//
// The way of the data:
//
//	[1] CatchUp reads the items that the cache holds and the index doesn't, cuts
//	    their text into words (segment) and writes these, and no text, to a
//	    database of the index's own beside the cache, some at a time;
//	[2] Find reads a question as people type it, asks the index for the items
//	    that hold its words, and looks at what the cache says of them: threads,
//	    workspaces, branches;
//	[3] several lists (how well the words match, how new and how often spoken
//	    of, with embeddings how near in meaning) are fused into one;
//	[4] what the index doesn't hold yet is looked through as it stands.
//
// # Words
//
// Text is cut into words by segment, not by SQLite. The same rules hold for what
// is typed, so that what was said is found as it was written:
//
//   - letters are folded: no capitals, no accents, no full width;
//   - a run of letters and digits is cut where its kind changes (getUserName2 is
//     get, user, name, 2), and so are runs that "-", "_" or "." join;
//   - a name that was cut is also there as one word: getUserName and get_user_name
//     are getusername too, and so is what test_getUserName has of it; index.go is
//     indexgo; not what is but digits, as a date;
//   - hexadecimal numbers are whole; so are ids and keys that would be cut into
//     noise. A word has at most 40 bytes, its rest is left out; of a run of more
//     than 128 bytes, or base64 of more than 96, no more than that is kept;
//   - scripts that put no space between words (Chinese, Japanese, Korean, Thai)
//     give all pairs of neighbours, and the last character of a run: what begins
//     with a character is found as the beginning of a word;
//   - what can't be seen is passed over, and what isn't valid UTF-8 ends a word.
//
// In an item each word counts once, and where it stands isn't kept: a phrase is
// looked for in the text of the items that have all its words.
//
// Every item also has words that no text gives, because they begin with U+0080:
// one for its role (roleName), a call one for its tool (toolName).
//
// # The file
//
// The index is derived: one that is lost, damaged or of another version is made
// anew. It has a file of its own so that its writes never make a commit wait,
// and so that the cache's backups don't carry it.
package search
