package mcpserver

import (
	"net/url"
	"strings"
)

// Addresses of resources. Tools take them, too, in the place of the session or
// the ref that they name.
const (
	statusURI   = "migrator://status"
	sessionsURI = "migrator://sessions"
	modelsURI   = "migrator://models"
	sessionURI  = "migrator://session/"
	omittedURI  = "migrator://omitted/"
)

// memoryURI is where a session's memory is read.
func memoryURI(id string) string { return sessionURI + id + "/memory.md" }

// splitSessionURI gives the session and the file that an address names.
func splitSessionURI(uri string) (session, file string, ok bool) {
	rest, ok := strings.CutPrefix(uri, sessionURI)
	if !ok {
		return "", "", false
	}
	session, file, _ = strings.Cut(rest, "/")
	session, err := url.PathUnescape(session)
	return session, file, err == nil && session != ""
}

// refOfURI gives the ref that an address names.
func refOfURI(uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, omittedURI)
	if !ok {
		return "", false
	}
	ref, err := url.PathUnescape(rest)
	return ref, err == nil && ref != ""
}
