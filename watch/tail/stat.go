package tail

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Stat is what the file system says about a rollout's file. It serves to see
// that nothing changed, never to see which rollout it is.
type Stat struct {
	Size     int64 // bytes on disk, compressed where the file is
	ModTime  time.Time
	Dev, Ino uint64 // 0 where the system has none
	CTimeNs  int64  // change time in Unix nanoseconds; 0 where the system has none
}

// StatFile describes the file at path. It follows no link and returns
// ErrNotRegular for what is not a regular file.
func StatFile(path string) (Stat, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return Stat{}, fmt.Errorf("stat rollout: %w", err)
	}
	if !fi.Mode().IsRegular() {
		return Stat{}, fmt.Errorf("stat rollout %s: %w", path, ErrNotRegular)
	}
	return statOf(fi), nil
}

func statOf(fi fs.FileInfo) Stat {
	st := Stat{Size: fi.Size(), ModTime: fi.ModTime()}
	st.Dev, st.Ino, st.CTimeNs = identity(fi)
	return st
}
