package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

func bases(files []File) []string {
	var b []string
	for _, f := range files {
		b = append(b, filepath.Base(f.Path))
	}
	return b
}

func TestList(t *testing.T) {
	home := realTemp(t)
	day := filepath.Join(home, sessionsDir, "2026", "08", "01")
	put(t, filepath.Join(day, base(3)), "abc")
	put(t, filepath.Join(day, base(1)+".zst"), "z")
	put(t, filepath.Join(home, sessionsDir, "rollout-2025-05-17-"+idA+".json"), "{}")
	put(t, filepath.Join(home, archivedDir, base(2)), "ab")
	put(t, filepath.Join(day, "rollout-compress-x.tmp"), "")
	put(t, filepath.Join(day, "."+base(9)+".paginated.tmp"), "")
	put(t, filepath.Join(home, "rollout-migrations", base(8)), "not below a root")
	mkdir(t, filepath.Join(day, base(5)))

	files, problems, err := List(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"rollout-2025-05-17-" + idA + ".json", base(1) + ".zst", base(2), base(3)}
	if got := bases(files); !slices.Equal(got, want) {
		t.Fatalf("List() = %q, want %q", got, want)
	}
	if f := files[2]; !f.Archived || f.Size != 2 || f.Name.ThreadID != id(2) || f.ModTime.IsZero() {
		t.Errorf("archived file = %+v", f)
	}
	if files[3].Archived {
		t.Error("file in sessions is marked archived")
	}
	if len(problems) != 1 || !errors.Is(problems[0].Err, ErrNotRegular) || problems[0].Path != filepath.Join(day, base(5)) {
		t.Errorf("problems = %v, want the folder named like a rollout", problems)
	}
}

func TestListMissing(t *testing.T) {
	home := realTemp(t)
	files, problems, err := List(t.Context(), filepath.Join(home, "none"))
	if err != nil || len(files) != 0 || len(problems) != 1 || !errors.Is(problems[0].Err, fs.ErrNotExist) {
		t.Errorf("List of no home = %v, %v, %v, want one problem", files, problems, err)
	}
	put(t, filepath.Join(home, sessionsDir), "a file")
	files, problems, err = List(t.Context(), home)
	if err != nil || len(files) != 0 || len(problems) != 2 {
		t.Errorf("List of no roots = %v, %v, %v, want two problems", files, problems, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := List(ctx, home); !errors.Is(err, context.Canceled) {
		t.Errorf("List with a done context = %v", err)
	}
}

func symlink(t *testing.T, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege: ", err)
		}
		t.Fatal(err)
	}
}

func TestListLinks(t *testing.T) {
	dir := realTemp(t)
	home, store := filepath.Join(dir, "home"), filepath.Join(dir, "store")
	mkdir(t, home)
	put(t, filepath.Join(store, "2026", "08", "01", base(1)), "a")
	put(t, filepath.Join(dir, "elsewhere", base(2)), "b")
	symlink(t, store, filepath.Join(home, sessionsDir))
	symlink(t, store, filepath.Join(home, archivedDir))
	symlink(t, filepath.Join(dir, "elsewhere"), filepath.Join(store, "2027"))
	symlink(t, filepath.Join(dir, "elsewhere", base(2)), filepath.Join(store, base(2)))
	symlink(t, home, filepath.Join(dir, "link"))

	files, problems, err := List(t.Context(), filepath.Join(dir, "link"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Path != filepath.Join(store, "2026", "08", "01", base(1)) {
		t.Errorf("List() = %+v, want the one file once, by its real path", files)
	}
	want := map[string]error{
		filepath.Join(store, "2027"):     ErrLink,
		filepath.Join(store, base(2)):    ErrNotRegular,
		filepath.Join(home, archivedDir): ErrListedBefore,
	}
	for _, p := range problems {
		if !errors.Is(p.Err, want[p.Path]) || want[p.Path] == nil {
			t.Errorf("problem %v, want %v", p, want[p.Path])
		}
		delete(want, p.Path)
	}
	if len(want) > 0 {
		t.Errorf("missing problems: %v", want)
	}
}

func TestListUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions do not bind this user")
	}
	home := realTemp(t)
	day := filepath.Join(home, sessionsDir, "2026", "08", "01")
	put(t, filepath.Join(day, base(1)), "a")
	put(t, filepath.Join(home, archivedDir, base(2)), "b")
	if err := os.Chmod(day, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(day, 0o700)
	l, err := list(t.Context(), []string{home}, systemEyes())
	if err != nil {
		t.Fatal(err)
	}
	if len(l.found) != 1 || len(l.problems) != 1 || !errors.Is(l.problems[0].Err, fs.ErrPermission) {
		t.Errorf("found %v, problems %v", l.found, l.problems)
	}
	if l.misses(0, filepath.Join(day, base(1))) {
		t.Error("a file in an unreadable folder counts as missing")
	}
}

func TestResolve(t *testing.T) {
	file := func(path string, form Form, archived bool, size int64) File {
		return File{Path: path, Name: Name{RolloutID: "r", Form: form}, Archived: archived, Size: size}
	}
	tests := []struct {
		name  string
		files []File
		want  string
	}{
		{"plain before zstd, whatever the size", []File{file("z", Zstd, false, 900), file("p", Plain, true, 1)}, "p"},
		{"the larger", []File{file("s", Plain, false, 5), file("a", Plain, true, 6)}, "a"},
		{"sessions when alike", []File{file("a", Plain, true, 5), file("s", Plain, false, 5)}, "s"},
		{"the path at last", []File{file("b", Plain, false, 5), file("a", Plain, false, 5)}, "a"},
		{"three", []File{file("z", Zstd, false, 9), file("a", Plain, true, 6), file("s", Plain, false, 5)}, "a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other := File{Path: "other", Name: Name{RolloutID: "o", Form: Plain}}
			picked, problems := Resolve(append([]File{other}, test.files...))
			if len(picked) != 2 || picked[0].Path != "other" || picked[1].Path != test.want {
				t.Errorf("picked %v, want other and %s", picked, test.want)
			}
			if len(problems) != len(test.files)-1 {
				t.Errorf("%d problems, want one for each file not read", len(problems))
			}
			for _, p := range problems {
				if !errors.Is(p.Err, ErrDuplicate) || p.Path == test.want {
					t.Errorf("problem %v", p)
				}
			}
		})
	}
}
