package sink

import (
	"path"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline/memory"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// FuzzNames: whatever a session's title, id, folder and time are, its document
// has one safe place, the same each time.
func FuzzNames(f *testing.F) {
	reliability.Figure(f, 23, "names of documents and folders: the seeds and all inputs that were ever found wrong; make fuzz goes on from them")
	for _, s := range [][3]string{
		{"Fix the build", "019a0000-0000-7000-8000-000000000040", "/home/dana/proj"},
		{"../../etc/passwd\x00", "..", `C:\Work\Shop (2026)\app`}, {"CON", "com1", "/con"}, {"nul.md", "nul", "/NUL."},
		{"\u202e\u212a\u0130ﬀ", "\xff\xfe", "//server/share/"}, {"---", "-", "/---"}, {"", "", ""},
	} {
		f.Add(s[0], s[1], s[2], int64(1_780_000_000))
	}
	f.Add("before the year 0", "a", "/", int64(-1<<40))
	f.Add("far ahead", "a", "/", int64(1<<50))
	f.Fuzz(func(t *testing.T, title, id, workspace string, at int64) {
		th := transcript.Thread{ID: id, Title: title, Created: time.Unix(at, 0)}
		p := path.Join(projectsDir, ProjectDir(workspace), memory.FileName(th, time.UTC))
		if err := checkPath(p); err != nil {
			t.Errorf("%q: %v", p, err)
		}
		if again := path.Join(projectsDir, ProjectDir(workspace), memory.FileName(th, time.UTC)); again != p {
			t.Errorf("%q, then %q", p, again)
		}
	})
}
