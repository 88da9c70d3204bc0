package spool_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/spool"
	"github.com/session-migrator/session-migrator/store/summary"
)

func sample(text string) summary.Summary {
	return summary.Summary{ThreadID: "t", Source: summary.ByCaller, Model: "m", Client: "c", Text: text, Through: 3, Created: time.Unix(7, 0).UTC()}
}

func TestWhatIsPutIsRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	if w, err := spool.Waiting(dir); err != nil || len(w) > 0 {
		t.Errorf("no spool: %v, %v", w, err)
	}
	for range 2 { // the same is one file
		if err := spool.Put(dir, sample("a <b>\n\u4e2d")); err != nil {
			t.Fatal(err)
		}
	}
	w, err := spool.Waiting(dir)
	if err != nil || len(w) != 1 {
		t.Fatalf("%v, %v", w, err)
	}
	if st, err := os.Stat(filepath.Join(dir, w[0].Name)); err != nil || os.PathSeparator == '/' && st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if got, err := spool.Read(dir, w[0].Name); err != nil || got != sample("a <b>\n\u4e2d") {
		t.Errorf("%+v, %v", got, err)
	}
	if err := errors.Join(spool.Remove(dir, w[0].Name), spool.Remove(dir, w[0].Name)); err != nil {
		t.Error(err)
	}
	if _, err := spool.Read(dir, w[0].Name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
}

func TestSpoolIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 64 {
		if err := spool.Put(dir, sample(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := spool.Put(dir, sample("one more")); !errors.Is(err, spool.ErrFull) {
		t.Errorf("the 65th: %v", err)
	}
	if err := spool.Put(dir, sample("3")); err != nil {
		t.Errorf("one that waits already: %v", err)
	}
	for i := range 20 {
		name := fmt.Sprintf("bad%02d.json", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := spool.Refuse(dir, name, errors.New("not\nright "+strings.Repeat("é", 500))); err != nil {
			t.Fatal(err)
		}
	}
	if w, _ := spool.Waiting(dir); len(w) != 64 {
		t.Errorf("%d wait", len(w))
	}
	n, newest, reason := spool.Refused(dir)
	if _, err := os.Stat(newest); n != 8 || err != nil || !strings.HasPrefix(reason, "not right é") {
		t.Errorf("%d refused, %s (%v): %s", n, newest, err, reason)
	}
}

func TestWhatIsNoSummary(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "x.json")
	for name, text := range map[string]string{
		"cut.json": `{"schema":1,"thread_id":"t"`, "empty.json": "", "other.json": `{"schema":2}`, "more.json": `{"schema":1,"run":"x"}`,
		"long.json": `{"schema":1,"summary":"` + strings.Repeat("x", 70_000) + `"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := spool.Read(dir, name); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if err := os.WriteFile(outside, []byte(`{"schema":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.json")); err == nil {
		if s, err := spool.Read(dir, "link.json"); err == nil {
			t.Errorf("a link was followed: %+v", s)
		}
		if err := spool.Refuse(dir, "link.json", errors.New("a link")); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(outside); err != nil {
			t.Error(err)
		}
	}
}
