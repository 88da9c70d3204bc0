package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func TestEveryProblemSaysWhere(t *testing.T) {
	p := store.Problem{
		Path: "/x/r.jsonl", State: store.FileOK, Damaged: 2,
		Damage: []transcript.Damage{
			{Line: 12, Offset: 4096, Size: 512, Cause: "nul", Salvaged: 1},
			{Line: 13, Offset: 70_000, Size: 92 << 20, Cause: "too-long", Detail: "response_item/message"},
		},
		TornBytes: 1500, TornOffset: 96_539_000, TornSince: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC),
	}
	want := "the last line is torn: 1.5 kB from byte 96,539,000 on without a line end, unchanged since 2026-11-20; read when it is complete; " +
		"line 12, byte 4,096, is damaged (nul): 512 B lost, 1 whole record in it saved; " +
		"line 13, byte 70,000, is damaged (too-long, response_item/message): 96.5 MB lost"
	got, err := json.Marshal(fileOf(&p))
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Reason string
		Torn   struct{ Offset, Bytes int64 }
	}
	if err := json.Unmarshal(got, &back); err != nil || back.Reason != want || back.Torn.Offset != 96_539_000 || back.Torn.Bytes != 1500 {
		t.Errorf("got  %s\nwant %s\n%s, %v", back.Reason, want, got, err)
	}
}

func TestAnUnreadableFileNamesTheCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	path := filepath.Join(t.TempDir(), "r.jsonl")
	if err := os.WriteFile(path, nil, 0o200); err != nil {
		t.Fatal(err)
	}
	p := store.Problem{Path: path, State: store.FileUnreadable, Reason: "open " + path + ": permission denied; read up to byte 0"}
	if f := fileOf(&p); f.Fix != "chmod u+r "+path || f.Reason != "open: permission denied; read up to byte 0" {
		t.Errorf("%+v", f)
	}
	err := unread(&pipeline.UnreadError{Path: path, Reason: p.Reason})
	if h, ok := errors.AsType[*hintError](err); !ok || !strings.HasPrefix(h.hint, "chmod u+r "+path+"; ") {
		t.Errorf("%v: %+v", err, h)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := fileOf(&p); f.Fix != "" {
		t.Errorf("nothing is wrong with its rights: %+v", f)
	}
}
