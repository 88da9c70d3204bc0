//go:build unix && !darwin

package notify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sendWith puts a notify-send on PATH that runs a shell script.
func sendWith(t *testing.T, script string) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, sender), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestShowPassesTextsAsArguments(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	t.Setenv("SAID", said)
	sendWith(t, `printf '[%s]' "$@" >"$SAID"`)
	d := Desktop{Bus: "unix:path=/run/bus"}
	if err := d.Ready(); err != nil {
		t.Fatal(err)
	}
	if err := d.Show(t.Context(), "-i $(touch pwned)", "a\n<b>\"it's\" & `c`\x1b[0m\u202e"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	if want := "[--app-name=session-migrator][--][i $(touch pwned)][a b \"it's\" `c`[0m]"; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}

func TestShowSaysWhatWentWrong(t *testing.T) {
	sendWith(t, `echo "no server" >&2; exit 3`)
	err := Desktop{Bus: "b"}.Show(t.Context(), "a", "b")
	if err == nil || !strings.Contains(err.Error(), "no server") || !strings.Contains(err.Error(), "status 3") {
		t.Error(err)
	}
	if err := (Desktop{}).Ready(); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "DBUS_SESSION_BUS_ADDRESS") {
		t.Errorf("without a bus: %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	if err := (Desktop{Bus: "b"}).Show(t.Context(), "a", "b"); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "install notify-send") {
		t.Errorf("without the program: %v", err)
	}
}

// A program that hangs is ended when there is no time left.
func TestShowEndsWithContext(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	t.Setenv("BEGUN", begun)
	sendWith(t, `echo >"$BEGUN"; exec sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- Desktop{Bus: "b"}.Show(ctx, "a", "b") }()
	for {
		if _, err := os.Stat(begun); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it was shown: %v", err)
	}
}

func TestLineIsCut(t *testing.T) {
	if got := line(strings.Repeat("ü", 400)); len([]rune(got)) != most || !strings.HasSuffix(got, "…") {
		t.Error(got)
	}
}
