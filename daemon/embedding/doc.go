// Package embedding makes vectors of what was said, for search by meaning, if
// the user configured who makes them; else it does nothing and opens no
// connection.
//
// The way of the data:
//
//	[1] what rollouts have that the vectors don't is listed, newest threads
//	    first; threads in denied folders, and what descends from them, are left
//	    out, and so are threads that go on just now;
//	[2] texts of people and agents are cleaned of secrets and cut into passages;
//	    those that have a vector already need none;
//	[3] before each call the day's caps are asked; after it, however it ended,
//	    it stands in the ledger;
//	[4] the vectors are kept, with how far they go: what is cut short goes on there;
//	[5] an endpoint that fails is left alone, longer each time.
//
// Readers ask for the vectors of questions themselves, through an Asker.
package embedding
