// Package daemon keeps one data folder up to date: the only writer of its
// cache and drop folder.
//
// The way of the data:
//
//	[1] lock: one daemon a data folder;
//	[2] list: what rollouts are there, and which of them are gone;
//	[3] backfill: workers ingest what the cache doesn't know yet, while
//	[4] watch tells of what changed since the listing, and that goes first;
//	[5] publish: when a thread has come to rest, its memory file is renewed, in
//	    each sink that is on by what the user chose;
//	[6] share: when its workspace has come to rest, so are our lines in files
//	    that belong to others;
//	[7] relay: a thread that runs out of context or quota is renewed at once,
//	    and that is said.
//	[8] index: what is new in the cache goes into the search index, behind all
//	    of that.
//
// Run does all of it until told to stop. Once ends when everything is up to
// date, CatchUp leaves the publishing out.
package daemon
