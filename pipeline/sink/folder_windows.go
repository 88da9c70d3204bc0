package sink

import "io/fs"

// safeFolder has nothing to look at: rights come from the profile folder.
func safeFolder(fs.FileInfo) error { return nil }
