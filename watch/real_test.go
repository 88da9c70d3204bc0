package watch

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// These run with the system's own events and clock. Rescan is out of reach, so
// that what arrives came by events. Limits are generous: machines stall.
const (
	soon  = 10 * time.Second
	never = time.Hour
)

func TestAppendArrives(t *testing.T) {
	home := realTemp(t)
	path := filepath.Join(day(home, 1), base(1))
	put(t, path, "x")
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.want(Present, path, soon)
	best := soon
	for range 20 {
		began := time.Now()
		appendTo(t, path, "y")
		r.want(Present, path, soon)
		best = min(best, time.Since(began))
	}
	if limit := 30 * time.Millisecond; best > limit && runtime.GOOS == "linux" {
		t.Errorf("best of 20 appends arrived after %v, want at most %v", best, limit)
	}
}

func TestLateHome(t *testing.T) {
	home := filepath.Join(realTemp(t), "later", "codex")
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.none(50 * time.Millisecond)
	path := filepath.Join(day(home, 1), base(1))
	put(t, path, "x")
	r.want(Present, path, soon)
	appendTo(t, path, "y")
	r.want(Present, path, soon)
}

func TestArchiveMove(t *testing.T) {
	t.Parallel()
	home := realTemp(t)
	path := filepath.Join(day(home, 1), base(1))
	archived := filepath.Join(home, archivedDir, base(1))
	put(t, path, "half a re")
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.want(Present, path, soon)
	rename(t, path, archived)
	if c := r.want(Present, archived, soon); !c.File.Archived || c.File.Name.RolloutID != id(1) {
		t.Errorf("change = %+v, want the archived file", c)
	}
	appendTo(t, archived, "cord\n")
	r.want(Present, archived, soon)
	rename(t, archived, path)
	if c := r.want(Present, path, soon); c.File.Archived {
		t.Errorf("change = %+v, want the file back in sessions", c)
	}
	r.none(2*confirm + time.Second) // the move is no end
}

func TestFolderReplaced(t *testing.T) {
	home := realTemp(t)
	path := filepath.Join(day(home, 1), base(1))
	put(t, path, "x")
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.want(Present, path, soon)
	month := filepath.Dir(filepath.Dir(path))
	rename(t, month, filepath.Join(home, "aside"))
	put(t, path, "another")
	r.want(Present, path, soon)
	appendTo(t, path, "y")
	for c := r.get(soon); c.File.Size != 8; c = r.get(soon) {
		if c.File.Path != path {
			t.Fatalf("change = %+v, want %s", c, path)
		}
	}
}

func TestIndex(t *testing.T) {
	home := realTemp(t)
	mkdir(t, filepath.Join(home, sessionsDir))
	index := filepath.Join(home, indexFile)
	put(t, index, "{}\n")
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.want(IndexChanged, index, soon)
	appendTo(t, index, "{}\n")
	r.want(IndexChanged, index, soon)
	put(t, index+".tmp", "{}\n{}\n{}\n")
	if err := os.Rename(index+".tmp", index); err != nil {
		t.Fatal(err)
	}
	if c := r.want(IndexChanged, index, soon); c.File.Size != 9 {
		t.Errorf("size = %d, want 9", c.File.Size)
	}
}
