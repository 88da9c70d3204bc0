// Package mcpserver answers agents over the Model Context Protocol on stdio.
//
// The way of a request:
//
//	[1] the transport takes one line, refuses what is no message and lives on;
//	[2] the SDK speaks the protocol, in both its eras: with a handshake and
//	    without;
//	[3] the arguments are read leniently, as models write them: other names,
//	    numbers as strings, JSON as a string;
//	[4] the tool asks the cache, opened at the first question and never before;
//	    what isn't committed yet is read for this one answer, and every answer
//	    says how fresh it is;
//	[5] text is redacted, framed as quoted history and cut into pages; data goes
//	    out twice, structured and as the same JSON in text, because clients show
//	    their model only one of them.
//
// Resources and prompts give out what tools say. Who follows a resource is told
// of changes by a watcher that looks at the cache while somebody listens.
//
// Nothing is ever written: not to the cache, not to a rollout. Only transport.go,
// line.go, serve.go and the files sdk*.go know the SDK; tools are functions from
// arguments to a result.
package mcpserver
