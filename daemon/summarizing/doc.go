// Package summarizing has a model write summaries of threads, if the user
// configured one; else it does nothing and opens no connection.
//
// The way of the data:
//
//	[1] threads that changed wait until they have rested; what is due then is
//	    settled by a pure function (due.go): long enough, something new, not
//	    denied, the last attempt long enough ago
//	[2] pipeline/summary plans what would be sent; each request is entered in
//	    the ledger before it is sent, within the caps of the day and the month,
//	    and after it how it ended (call.go). One goes out at a time
//	[3] what comes back is kept with what it rests on, and the thread's
//	    documents are written anew. What doesn't come back leaves everything as
//	    it was, and the documents say why
//	[4] an endpoint that fails is left alone for a while; one that refuses, until
//	    the settings change (breaker.go)
//
// Nobody waits for any of it: documents are made without summaries first.
package summarizing
