package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

// The first file of a folder is made at once with the folder, the month and the
// year, before anybody can have set a watch. Rescan is out of reach.
func TestFirstFileOfNewFolder(t *testing.T) {
	const folders = 300
	reliability.Fault(t, 37, "300 times a day folder, often with its month and year, and its first file made at once; the home or its sessions folder a link, or not there yet")
	for name, link := range map[string]string{"plain": "", "the home is a link": "home", "the sessions folder is a link": "sessions"} {
		t.Run(name, func(t *testing.T) {
			dir := realTemp(t)
			home := filepath.Join(dir, "home")
			given, root := home, filepath.Join(home, sessionsDir)
			mkdir(t, home)
			switch link {
			case "home":
				given = filepath.Join(dir, "link")
				symlink(t, home, given)
			case "sessions":
				root = filepath.Join(dir, "elsewhere")
				mkdir(t, root)
			}
			r := start(t, Options{Homes: []string{given}, Rescan: never}, nil)
			r.none(20 * time.Millisecond)
			if link == "sessions" {
				symlink(t, root, filepath.Join(home, sessionsDir))
			}
			seen := make(map[string]bool)
			var worst time.Duration
			for i := range folders {
				path := filepath.Join(root, fmt.Sprint(2000+i/50), fmt.Sprintf("%02d", 1+i/10%12), fmt.Sprintf("%02d", 1+i%10), base(i))
				began := time.Now()
				put(t, path, "x")
				for {
					c := r.get(soon)
					what := fmt.Sprint(c.File.Path, c.File.Size)
					if c.Kind != Present || c.Home != given || c.File.Path != path || seen[what] {
						t.Fatalf("change = %+v, want %s of %s once", c, path, given)
					}
					seen[what] = true
					if c.File.Size == 1 {
						break
					}
				}
				worst = max(worst, time.Since(began))
			}
			t.Logf("%d of %d, after %v at most", folders, folders, worst)
			if h := r.Health(); h.Missed != 0 || h.Dropped != 0 || len(h.Problems) != 0 {
				t.Errorf("health = %+v, want nothing missed", h)
			}
			if worst > 5*time.Second {
				t.Errorf("after %v, want 1s at most", worst)
			}
		})
	}
}

// Whatever is done to the homes and roots is seen by what the kernel tells of it.
func TestHomesComeAndGo(t *testing.T) {
	t.Parallel()
	dir := realTemp(t)
	home := filepath.Join(dir, "codex")
	path := filepath.Join(day(home, 1), base(1))
	put(t, path, "x")
	r := start(t, Options{Homes: []string{home}, Rescan: never}, nil)
	r.size(path, 1, soon)

	t.Run("another home takes the place", func(t *testing.T) {
		reliability.Fault(t, 31, "the whole Codex home renamed away, another one put in its place")
		rename(t, home, home+".old")
		fresh := filepath.Join(day(home, 2), base(2))
		put(t, fresh, "x")
		r.t = t
		want := map[string]Kind{fresh: Present, path: Gone}
		for len(want) > 0 {
			c := r.get(soon)
			if want[c.File.Path] != c.Kind {
				if c.File.Path == fresh && c.Kind == Present {
					continue // once empty, once with its content
				}
				t.Fatalf("change = %v %s", c.Kind, c.File.Path)
			}
			delete(want, c.File.Path)
		}
		appendTo(t, fresh, "y")
		r.size(fresh, 2, soon)
		appendTo(t, filepath.Join(day(home+".old", 1), base(1)), "y")
		r.none(200 * time.Millisecond) // that is nobody's home now
	})
	t.Run("and gives it back", func(t *testing.T) {
		reliability.Fault(t, 31, "the first home put back in place of the other")
		r.t = t
		remove(t, home)
		rename(t, home+".old", home)
		gone := filepath.Join(day(home, 2), base(2))
		want := map[string]Kind{gone: Gone, path: Present}
		for len(want) > 0 {
			c := r.get(soon)
			if want[c.File.Path] != c.Kind {
				t.Fatalf("change = %v %s", c.Kind, c.File.Path)
			}
			delete(want, c.File.Path)
		}
		appendTo(t, path, "z")
		r.size(path, 3, soon)
	})
	t.Run("the root goes and comes back", func(t *testing.T) {
		reliability.Fault(t, 31, "the sessions folder renamed away and back, and a month folder")
		r.t = t
		for _, folder := range []string{filepath.Join(home, sessionsDir), filepath.Dir(filepath.Dir(path))} {
			rename(t, folder, filepath.Join(dir, "aside"))
			r.want(Gone, path, soon)
			rename(t, filepath.Join(dir, "aside"), folder)
			r.want(Present, path, soon)
			fi, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			appendTo(t, path, "z")
			r.size(path, fi.Size()+1, soon)
		}
	})
}

// A link is looked through anew by each listing.
func TestLinksLeadElsewhere(t *testing.T) {
	t.Parallel()
	dir := realTemp(t)
	one, two, given := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "link")
	put(t, filepath.Join(day(one, 1), base(1)), "x")
	put(t, filepath.Join(day(two, 1), base(1)), "xy") // the same rollout, gone on
	put(t, filepath.Join(day(two, 2), base(2)), "x")
	symlink(t, one, given)
	r := start(t, Options{Homes: []string{given}, Rescan: 100 * time.Millisecond}, nil)
	r.size(filepath.Join(day(one, 1), base(1)), 1, soon)
	reliability.Fault(t, 31, "the home is a link that is turned to another folder meanwhile")
	symlink(t, two, given+".new")
	rename(t, given+".new", given)
	want := map[string]bool{filepath.Join(day(two, 1), base(1)): true, filepath.Join(day(two, 2), base(2)): true}
	for len(want) > 0 {
		c := r.get(soon)
		if c.Kind != Present || c.Home != given || !want[c.File.Path] {
			t.Fatalf("change = %+v, want the files behind the new end of the link", c)
		}
		delete(want, c.File.Path)
	}
	path := filepath.Join(day(two, 1), base(1))
	appendTo(t, path, "z")
	r.size(path, 3, soon)
	r.none(2*confirm + time.Second) // the rollout is at another place, not gone
}
