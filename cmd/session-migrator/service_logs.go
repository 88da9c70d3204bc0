package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/session-migrator/session-migrator/daemon/logfile"
	"github.com/session-migrator/session-migrator/install/service"
)

func runServiceLogs(ctx context.Context, a *app, f *serviceFlags, n int, follow bool) error {
	if n < 0 {
		return usagef("--lines is %d; give a number of lines", n)
	}
	s, err := a.serviceHost(ctx, f)
	if err != nil {
		return err
	}
	if s.was == nil {
		return noService()
	}
	s.follow()
	if path := s.was.Arg("--log-file"); path != "" {
		return showLog(ctx, a, path, n, follow)
	}
	more := []string{"-n", strconv.Itoa(n), "--no-pager", "--quiet"}
	if follow {
		more = append(more, "--follow")
	}
	argv := s.journalctl(more...)
	c := exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // a program of the system's
	c.Stdout, c.Stderr = a.out, a.err
	err = c.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return hinted(fmt.Errorf("ask the journal: %w", err), "see that journalctl is installed and that you may read the journal (group systemd-journal)")
	}
	return nil
}

// journalctl is the command line that shows what the journal has. A user's own
// services are asked for by a field: where the journal is kept in memory alone,
// --user shows nothing.
func (s *serviceHost) journalctl(more ...string) []string {
	const unit = service.Name + ".service"
	if s.host.System {
		return append([]string{"journalctl", "--unit", unit}, more...)
	}
	return append([]string{"journalctl", "_UID=" + s.host.UID, "_SYSTEMD_USER_UNIT=" + unit, "+", "_UID=" + s.host.UID, "USER_UNIT=" + unit}, more...)
}

// showLog shows the end of a log of ours, of the file before too if one is not
// enough.
func showLog(ctx context.Context, a *app, path string, n int, follow bool) error {
	var text []byte
	for i := range logfile.Keep {
		b, err := os.ReadFile(logfile.Old(path, i))
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		text = append(b, text...)
		if bytes.Count(text, []byte("\n")) >= n {
			break
		}
	}
	if len(text) == 0 && !follow {
		return hinted(fmt.Errorf("there is no log yet at %s", path), `"session-migrator service status" says whether it runs`)
	}
	if _, err := a.out.Write(lastLines(text, n)); err != nil || !follow {
		return err
	}
	return followLog(ctx, a, path)
}

// lastLines gives the last n lines.
func lastLines(text []byte, n int) []byte {
	at := len(text)
	if n == 0 {
		return nil
	}
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '\n' && i != len(text)-1 {
			if n--; n == 0 {
				break
			}
		}
		at = i
	}
	return text[at:]
}

// followLog shows what is added, until Ctrl-C.
func followLog(ctx context.Context, a *app, path string) error {
	at := int64(-1)
	t := time.NewTicker(followPoll)
	defer t.Stop()
	for {
		st, err := os.Stat(path)
		switch {
		case err != nil: // it is just being turned over
		case at < 0:
			at = st.Size()
		case st.Size() < at:
			at = 0
			fallthrough
		case st.Size() > at:
			n, err := copyFrom(a.out, path, at)
			at += n
			if err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

func copyFrom(w io.Writer, path string, at int64) (n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("read the log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	return io.Copy(w, f)
}
