// Package watch says which rollout files under the Codex homes changed.
//
// Events are a hint, the listing is the truth: the operating system loses
// events (queue overflow, a folder that gets files before it is watched,
// network file systems, watch limits), so everything an event leads to is also
// found without it.
//
// The way of the data:
//
//	[1] a listing of all homes, at the start, every Options.Rescan, and
//	    whenever something suggests that events were lost
//	[2] watches on the homes, the roots, year and month folders, the newest day
//	    folders and the folders of active files; each is read after its watch
//	    stands, so that nothing falls in between
//	[3] an event marks a path; when it has been quiet for a moment (settle),
//	    the path is looked at
//	[4] where no event can be had, files and folders that were active lately
//	    are looked at by the clock
//	[5] a look that differs from the last one puts the rollout in the queue;
//	    of all its files the one to read is chosen when the receiver is ready
//
// The queue holds each rollout once: a slow receiver gets fewer, newer changes
// and never too many. Nothing here opens a rollout, writes or locks anything.
package watch
