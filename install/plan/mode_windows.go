package plan

import "io/fs"

// modeIs is always so: mode bits carry no rights here.
func modeIs(string, fs.FileMode) bool { return true }
