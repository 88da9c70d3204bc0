package logfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestKeepsTheNewestInFilesOfBoundedSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "a.log")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	l.most = 100
	for n := range 40 {
		if n == 20 { // a restart goes on
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if l, err = Open(path); err != nil {
				t.Fatal(err)
			}
			l.most = 100
		}
		if _, err := fmt.Fprintf(l, "line %02d of this log, 30 bytes\n", n); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for n := Keep - 1; n >= 0; n-- {
		b, err := os.ReadFile(Old(path, n))
		if err != nil || len(b) > 100 {
			t.Errorf("file %d has %d bytes, error %v", n, len(b), err)
		}
		all.Write(b)
	}
	var want strings.Builder
	for n := 40 - 3*(Keep-1) - 1; n < 40; n++ {
		fmt.Fprintf(&want, "line %02d of this log, 30 bytes\n", n)
	}
	if all.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", all.String(), want.String())
	}
	if _, err := os.Stat(Old(path, Keep)); err == nil {
		t.Error("one file more than kept")
	}
	if _, err := l.Write([]byte("x")); err == nil {
		t.Error("a closed log takes more")
	}
}
