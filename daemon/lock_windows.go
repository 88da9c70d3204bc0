package daemon

import "os"

// lockFolder does nothing: an open lock file can't be made anew here while it
// is held, so the file alone counts.
func lockFolder(string) (*os.File, error) { return nil, nil }

func folderHeld(string) (bool, error) { return false, nil }

// alive takes what a process said of itself for true.
func alive(int) bool { return true }
