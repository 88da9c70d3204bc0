package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/session-migrator/session-migrator/daemon"
)

const (
	// quietFor keeps short work silent.
	quietFor = 400 * time.Millisecond
	// lineEvery is how often a pipe or log gets a line of progress.
	lineEvery = 5 * time.Second
)

// progress shows how far a backfill is: a bar on a terminal, now and then a
// line elsewhere.
type progress struct {
	err io.Writer
	tty bool

	mu     sync.Mutex // guards the rest
	bar    *progressbar.ProgressBar
	total  int64
	lineAt time.Duration
	ended  bool
}

func (a *app) progress() *progress {
	_, tty := terminal(a.err)
	return &progress{err: a.err, tty: tty && a.env("TERM") != "dumb", lineAt: lineEvery}
}

// tell takes one report of the daemon's.
func (p *progress) tell(r daemon.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	switch r.Phase {
	case daemon.PhaseIngest:
		p.ingest(r)
	case daemon.PhaseList:
	case daemon.PhaseIndex:
		p.index(r)
	case daemon.PhasePublish, daemon.PhaseWatch:
		p.clear()
	}
}

// index tells how far the search index is.
func (p *progress) index(r daemon.Progress) {
	if r.Elapsed < quietFor || r.Items == 0 {
		return
	}
	line := fmt.Sprintf("search index: %s of %s", number(r.ItemsDone), plural(r.Items, "message"))
	if !p.tty {
		if r.Elapsed >= p.lineAt {
			p.lineAt = r.Elapsed + lineEvery
			put(p.err, "%s\n", line)
		}
		return
	}
	if p.bar == nil || p.total != r.Items {
		p.clear()
		p.total = r.Items
		p.bar = progressbar.NewOptions64(r.Items, progressbar.OptionSetWriter(p.err), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(65*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(24), progressbar.OptionSetDescription("indexing messages"))
	}
	_ = p.bar.Set64(r.ItemsDone) // as above
}

func (p *progress) ingest(r daemon.Progress) {
	if r.Elapsed < quietFor || r.Bytes == 0 {
		return
	}
	if !p.tty {
		if r.Elapsed >= p.lineAt {
			p.lineAt = r.Elapsed + lineEvery
			put(p.err, "%s\n", progressLine(r))
		}
		return
	}
	if p.bar == nil || p.total != r.Bytes {
		p.clear()
		p.total = r.Bytes
		p.bar = progressbar.NewOptions64(r.Bytes, progressbar.OptionSetWriter(p.err), progressbar.OptionShowBytes(true), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(65*time.Millisecond), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(24), progressbar.OptionSetDescription("reading rollouts"))
	}
	// A bar that can't be drawn is no reason to stop reading.
	_ = p.bar.Set64(r.BytesDone)
}

// progressLine is a report for those who can't see a bar: bytes, rate and the
// time left.
func progressLine(r daemon.Progress) string {
	rate := float64(r.BytesDone) / max(r.Elapsed.Seconds(), 0.001)
	left := "?"
	if rate > 0 {
		left = took(time.Duration(float64(r.Bytes-r.BytesDone) / rate * float64(time.Second)))
	}
	return fmt.Sprintf("read %s of %s in %d of %d files, %s/s, about %s left",
		size(r.BytesDone), size(r.Bytes), r.FilesDone, r.Files, size(int64(rate)), left)
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear() // nothing to be done about a terminal that is gone
		p.bar = nil
	}
}

// done removes the bar for good.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.ended = true
}
