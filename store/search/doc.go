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
// The index is derived: one that is lost, damaged or of another version is made
// anew. It has a file of its own so that its writes never make a commit wait,
// and so that the cache's backups don't carry it.
package search
