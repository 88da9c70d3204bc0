// Package summary has a model write what a thread's facts don't tell: why things
// were decided, what was learned, what is open. It does nothing by itself: who
// calls it has been told by the user to, and keeps the account.
//
// The way of the data:
//
//	[1] PlanFor takes what is ours and the secrets out of the messages, picks
//	    what fits by what it is, cuts it at turns to the model's window, and
//	    gives the calls word for word. It is pure: the same input, the same plan
//	[2] Client.Run makes the calls, one after the other, each announced to the
//	    caller, who may refuse it
//	[3] each answer is decoded strictly, asked for once more where it can be
//	    mended, and freed of what a model must not say: turns and paths that
//	    aren't in the thread, marks, imports, secrets (decode.go, check.go)
//	[4] answers to parts are merged by code (merge.go); only the heading is
//	    asked for again
//
// Nothing empty or unchecked comes out.
package summary
