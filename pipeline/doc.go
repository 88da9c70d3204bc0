// Package pipeline brings the cache up to date with the rollouts, and makes
// out of the cache what is handed on.
//
// The way of the data, for each file that changed (Ingest):
//
//	[1] the checkpoint says where reading stands; the file's look and its
//	    fingerprints say whether that still holds, and else what to do;
//	[2] watch/tail gives the whole lines after the cursor;
//	[3] pipeline/rollout turns them into a transcript.Delta;
//	[4] each item's tokens are counted, once;
//	[5] the store commits rows, decisions and cursor together.
//
// On the way out (Memory, Migrate): what this program itself put into the session
// is left out (loop), the store's messages are made fit to leave (defuse, redact),
// selected by compress and rendered; nothing is read from a rollout but a tail that
// wasn't committed yet.
package pipeline
