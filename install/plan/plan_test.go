package plan_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/install/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a Runner that only writes down. fail names the command lines
// that fail, before is called in front of each.
type recorder struct {
	ran    []string
	fail   map[string]bool
	before func(line string)
}

func (r *recorder) Run(_ context.Context, argv []string) (string, error) {
	line := plan.Quote(argv)
	if r.before != nil {
		r.before(line)
	}
	r.ran = append(r.ran, line)
	if r.fail[line] {
		return "", errors.New(line + " failed")
	}
	return "", nil
}

func (r *recorder) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(r.ran, lines) {
		t.Errorf("ran %q, want %q", r.ran, lines)
	}
	r.ran = nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// content gives what a file holds, "-" for none.
func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func step(t *testing.T, path, after string) plan.Step {
	t.Helper()
	s, err := plan.Write(path, []byte(after), 0, "a reason")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// place is a folder with a file of the user's, and a plan that changes it,
// makes another and runs a command.
func place(t *testing.T) (dir string, j plan.Journal, make func() plan.Plan) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "theirs.json"), "{\n}\n")
	j = plan.Journal{Dir: filepath.Join(dir, "data", "receipts")}
	return dir, j, func() plan.Plan {
		return plan.Plan{Name: "p", Steps: []plan.Step{
			{Why: "reload", Command: &plan.Command{Undo: []string{"reload"}}},
			step(t, filepath.Join(dir, "theirs.json"), "{\n  \"ours\": 1\n}\n"),
			step(t, filepath.Join(dir, "new", "deep", "unit"), "[Unit]\n"),
			{Why: "reload", Command: &plan.Command{Argv: []string{"reload"}, Follows: true}},
			{Why: "start", Command: &plan.Command{Argv: []string{"start", "it"}, Undo: []string{"stop", "it"}, Check: []string{"is", "started"}, Tolerated: true}},
		}}
	}
}

func TestApplyThenUndoLeavesWhatWas(t *testing.T) {
	dir, j, make := place(t)
	r := &recorder{fail: map[string]bool{"is started": true}}
	out, err := j.Apply(t.Context(), make(), r)
	if err != nil || len(out.Done) != 5 || len(out.Left) != 0 {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	r.want(t, "is started", "reload", "start it")
	if got := content(t, filepath.Join(dir, "theirs.json")); got != "{\n  \"ours\": 1\n}\n" {
		t.Errorf("theirs holds %q", got)
	}
	if got := content(t, filepath.Join(dir, "new/deep/unit")); got != "[Unit]\n" {
		t.Errorf("unit holds %q", got)
	}

	back, err := j.Undoing("p")
	if err != nil || len(back.Steps) != 4 || !slices.Equal(back.Steps[0].Command.Argv, []string{"stop", "it"}) {
		t.Errorf("undo is going to do %v, %v", back, err)
	}
	out, err = j.Undo(t.Context(), "p", r)
	if err != nil || len(out.Left) != 0 {
		t.Fatalf("outcome %+v, error %v", out, err)
	}
	r.want(t, "stop it", "reload")
	if got := content(t, filepath.Join(dir, "theirs.json")); got != "{\n}\n" {
		t.Errorf("theirs holds %q", got)
	}
	for _, gone := range []string{"new", "data/receipts"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", gone, err)
		}
	}
	if out, err := j.Undo(t.Context(), "p", r); err != nil || len(out.Done) != 0 {
		t.Errorf("a second undo did %v, %v", out, err)
	}
}

func TestSecondApplyHasNothingToDo(t *testing.T) {
	_, j, make := place(t)
	r := &recorder{fail: map[string]bool{"is started": true}}
	if _, err := j.Apply(t.Context(), make(), r); err != nil {
		t.Fatal(err)
	}
	r.ran, r.fail = nil, nil
	out, err := j.Apply(t.Context(), make(), r)
	if err != nil || len(out.Done) != 0 {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	r.want(t, "is started")
	if p, err := make().Pending(t.Context(), r, false); err != nil || !strings.Contains(p.String(), "Nothing is to be done") {
		t.Errorf("plan %s, error %v", p, err)
	}
}

// A program that is killed at any step can be called again and finishes, or
// take back all there is.
func TestKilledAtEachStep(t *testing.T) {
	for _, again := range []bool{true, false} {
		for at := range 3 {
			t.Run(fmt.Sprintf("again=%v/%d", again, at), func(t *testing.T) {
				dir, j, make := place(t)
				r := &recorder{fail: map[string]bool{"is started": true}}
				n := 0
				r.before = func(string) {
					if n++; n > at+1 { // the first is the check
						panic("killed")
					}
				}
				func() {
					defer func() { _ = recover() }()
					_, _ = j.Apply(t.Context(), make(), r)
				}()
				r.before, r.ran = nil, nil
				if again {
					if _, err := j.Apply(t.Context(), make(), r); err != nil {
						t.Fatal(err)
					}
					if at < 1 && !slices.Contains(r.ran, "reload") {
						t.Errorf("ran %q: the unit was written and never loaded", r.ran)
					}
				}
				if _, err := j.Undo(t.Context(), "p", r); err != nil {
					t.Fatal(err)
				}
				if got := content(t, filepath.Join(dir, "theirs.json")); got != "{\n}\n" {
					t.Errorf("theirs holds %q", got)
				}
				if _, err := os.Stat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("new is still there: %v", err)
				}
			})
		}
	}
}

func TestUndoLeavesWhatOthersChanged(t *testing.T) {
	dir, j, make := place(t)
	r := &recorder{}
	if _, err := j.Apply(t.Context(), make(), r); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "theirs.json"), "{\n  \"ours\": 1, \"new\": 2\n}\n")
	out, err := j.Undo(t.Context(), "p", r)
	if err != nil || len(out.Left) != 1 || !strings.Contains(out.Left[0], "theirs.json was changed after us") {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	if got := content(t, filepath.Join(dir, "theirs.json")); !strings.Contains(got, "new") {
		t.Errorf("theirs holds %q", got)
	}
}

// An upgrade changes what we wrote; what comes back is what was there before
// the first time.
func TestUndoAfterAnUpgradeGivesTheFirstBytes(t *testing.T) {
	dir := t.TempDir()
	j, path := plan.Journal{Dir: filepath.Join(dir, "r")}, filepath.Join(dir, "f")
	write(t, path, "first")
	for _, text := range []string{"ours 1", "ours 2", "ours 3"} {
		s := step(t, path, text)
		s.File.Backup = filepath.Join(dir, "kept", "f")
		if _, err := j.Apply(t.Context(), plan.Plan{Name: "p", Steps: []plan.Step{s}}, &recorder{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := content(t, filepath.Join(dir, "kept", "f")); got != "first" {
		t.Errorf("the copy holds %q", got)
	}
	if _, err := j.Undo(t.Context(), "p", &recorder{}); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "first" {
		t.Errorf("got %q, want the first", got)
	}
	if got := content(t, filepath.Join(dir, "kept", "f")); got != "-" {
		t.Errorf("the copy stays: %q", got)
	}
}

func TestApplyRefusesWhatChangedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "one")
	p := plan.Plan{Name: "p", Steps: []plan.Step{step(t, path, "ours")}}
	write(t, path, "two")
	_, err := plan.Journal{Dir: filepath.Join(dir, "r")}.Apply(t.Context(), p, &recorder{})
	if !errors.Is(err, plan.ErrChanged) || content(t, path) != "two" {
		t.Errorf("error %v, file %q", err, content(t, path))
	}
}

func TestFailures(t *testing.T) {
	dir, j, make := place(t)
	r := &recorder{fail: map[string]bool{"is started": true, "start it": true}}
	out, err := j.Apply(t.Context(), make(), r)
	if err != nil || len(out.Left) != 1 || !strings.Contains(out.Left[0], "start it failed") {
		t.Errorf("a tolerated failure: %+v, %v", out, err)
	}
	// An undo that fails goes on, and can be tried again.
	r.fail = map[string]bool{"stop it": true}
	if _, err := j.Undo(t.Context(), "p", r); err == nil {
		t.Error("no error of the undo")
	}
	if got := content(t, filepath.Join(dir, "theirs.json")); got != "{\n}\n" {
		t.Errorf("theirs holds %q", got)
	}
	r.fail, r.ran = nil, nil
	if _, err := j.Undo(t.Context(), "p", r); err != nil {
		t.Error(err)
	}
	r.want(t, "stop it")
}

func TestLinksAndModesStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right and mode bits carry none")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, "dotfiles", "f"), filepath.Join(dir, "f")
	write(t, real, "theirs")
	if err := errors.Join(os.Chmod(real, 0o644), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	j := plan.Journal{Dir: filepath.Join(dir, "r")}
	if _, err := j.Apply(t.Context(), plan.Plan{Name: "p", Steps: []plan.Step{step(t, link, "ours")}}, &recorder{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(real)
	if err != nil || info.Mode().Perm() != 0o644 || content(t, real) != "ours" {
		t.Errorf("mode %v, text %q, error %v", info.Mode(), content(t, real), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
}

func TestPrint(t *testing.T) {
	dir, _, make := place(t)
	var b strings.Builder
	p := make()
	p.Notes = []string{"the data stays"}
	if err := p.Print(&b, plan.PrintOptions{Mask: func(s string) string { return strings.ReplaceAll(s, dir, "DIR") }}); err != nil {
		t.Fatal(err)
	}
	want := ` 1. change DIR/theirs.json
    a reason
       {
      +  "ours": 1
       }
 2. write DIR/new/deep/unit
    a reason
    makes the folder DIR/new/deep
      +[Unit]
 3. run reload
    reload
 4. run start it
    start
    taken back by: stop it
note: the data stays
`
	if got := filepath.ToSlash(b.String()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A restart comes after a change, whether the service runs or not; without a
// change only where it doesn't.
func TestCommandsThatFollowOrRenew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "unit")
	j := plan.Journal{Dir: filepath.Join(dir, "r")}
	apply := func(text string, r *recorder) {
		t.Helper()
		p := plan.Plan{Name: "p", Steps: []plan.Step{
			step(t, path, text),
			{Why: "reload", Command: &plan.Command{Argv: []string{"reload"}, Follows: true}},
			{Why: "restart", Command: &plan.Command{Argv: []string{"restart"}, Check: []string{"active"}, Renews: true}},
		}}
		if _, err := j.Apply(t.Context(), p, r); err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{}
	apply("1", r)
	r.want(t, "reload", "restart")
	apply("1", r)
	r.want(t, "active")
	apply("2", r)
	r.want(t, "reload", "restart")
	r.fail = map[string]bool{"active": true}
	apply("2", r)
	r.want(t, "active", "restart")
}

func TestTriesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, heals := range []bool{true, false} {
			r := &recorder{fail: map[string]bool{"boot": true}}
			n := 0
			r.before = func(string) {
				if n++; heals && n == 3 {
					r.fail = nil
				}
			}
			p := plan.Plan{Name: "p", Steps: []plan.Step{{Why: "boot", Command: &plan.Command{Argv: []string{"boot"}, Tries: 5}}}}
			_, err := p.Do(t.Context(), r)
			want := map[bool]int{true: 3, false: 5}[heals]
			if n != want || (err == nil) != heals {
				t.Errorf("%d tries, error %v; want %d", n, err, want)
			}
		}
	})
}

func TestTextOfWindowsIsShown(t *testing.T) {
	f := plan.File{Path: "/x", After: []byte("\xff\xfeh\x00i\x00\r\x00\n\x00")}
	if got := f.Text(); got != "hi\n" {
		t.Errorf("got %q", got)
	}
	if got := (plan.Plan{Steps: []plan.Step{{Why: "w", File: &f}}}).String(); !strings.Contains(got, "+hi\n") {
		t.Errorf("got %s", got)
	}
	if got := (&plan.File{After: []byte{0xff, 0x00, 0x01}}).Text(); got != "" {
		t.Errorf("got %q of what is no text", got)
	}
}

// What a killed write left beside a file, its keys in it, goes with the next
// call; a write that is just going on is left alone.
func TestLeftoversOfAKilledWriteGo(t *testing.T) {
	dir, j, make := place(t)
	p := make()
	write(t, filepath.Join(dir, "theirs.json"), "{}") // the step is begun, and refused
	if _, err := j.Apply(t.Context(), p, &recorder{}); !errors.Is(err, plan.ErrChanged) {
		t.Fatalf("got %v", err)
	}
	left, going := filepath.Join(dir, ".sm-0123456789abcdef.tmp"), filepath.Join(dir, ".sm-0123456789abcdee.tmp")
	for range 2 {
		write(t, left, "{\"key\": \"k\"}")
		write(t, going, "{")
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(left, old, old); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Undo(t.Context(), "p", &recorder{}); err != nil {
			t.Fatal(err)
		}
		if content(t, left) != "-" || content(t, going) != "{" {
			t.Errorf("left %q, going on %q", content(t, left), content(t, going))
		}
		if _, err := j.Apply(t.Context(), p, &recorder{}); !errors.Is(err, plan.ErrChanged) {
			t.Fatalf("got %v", err)
		}
	}
}
