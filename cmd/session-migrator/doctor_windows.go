package main

import "io/fs"

// foreignOwner and writable have nothing to ask: rights come from the profile
// folder.
func foreignOwner(fs.FileInfo) string { return "" }

func writable(string) error { return nil }
