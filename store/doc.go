// Package store keeps the cache in one SQLite file.
//
// The way of the data:
//
//	[1] Commit takes a Batch (what new lines of one rollout say, and the cursor
//	    behind them) and writes all of it in one transaction;
//	[2] in the same transaction the thread's figures and the decisions for every
//	    target model are brought up to date;
//	[3] readers, in this or another process, see the state before or after, never
//	    between.
//
// One process writes (Open), any number read (OpenReader). The rollouts are the
// truth for everything but receipts and what is known of shared files: what is
// derived can be dropped and taken in again.
//
// A build needs the tag sqlite_fts5.
package store
