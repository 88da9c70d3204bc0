//go:build crash

package daemon_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/store/failpoint"
)

const (
	fewestKills  = 20
	killsCorpus  = 25  // after so many kills the files are long enough, and new ones are begun
	killsForAll  = 300 // of so many each point must be hit
	longestWait  = 250 * time.Millisecond
	longestPoint = 600 * time.Millisecond // until a daemon that doesn't come by a named point is killed where it is
	longestRun   = time.Minute            // the same for a run that ends by itself
)

// way is how to get to a point: what is started, what the writer does before,
// and how often the point is passed then, at a guess.
type way struct {
	kind    string // run: at times, else once
	order   string // empty: nothing
	hostile bool   // tame hands don't lead there
	most    int
}

var ways = map[failpoint.Point]way{
	failpoint.AfterRead:      {taskRun, "grow", false, 6},
	failpoint.MidReset:       {taskOnce, "rewrite", true, 3},
	failpoint.MidRederive:    {taskRebuild, "", false, 4},
	failpoint.MidBatch:       {taskRun, "grow", false, 12},
	failpoint.BeforeCursor:   {taskRun, "grow", false, 6},
	failpoint.BeforeFigures:  {taskRun, "grow", false, 6},
	failpoint.MidTouch:       {taskOnce, "delete", true, 1},
	failpoint.BeforeCommit:   {taskRun, "grow", false, 8},
	failpoint.AfterCommit:    {taskRun, "grow", false, 8},
	failpoint.BetweenBatches: {taskOnce, "burst", false, 1},
	failpoint.AfterForget:    {taskOnce, "fork", false, 1},
	failpoint.BeforePublish:  {taskOnce, "grow", false, 3},
	failpoint.MidTemp:        {taskOnce, "grow", false, 5},
	failpoint.BeforeRename:   {taskOnce, "grow", false, 5},
	failpoint.AfterRename:    {taskOnce, "grow", false, 5},
	failpoint.BeforeReceipt:  {taskOnce, "grow", false, 3},
	failpoint.AfterReceipt:   {taskOnce, "grow", false, 3},
	failpoint.MidIndex:       {taskOnce, "grow", false, 4},
	failpoint.BeforeShared:   {taskOnce, "grow", false, 2},
}

// tally of kills, shared by the two lanes.
type killed struct {
	mu      sync.Mutex // guards the rest
	kills   int
	random  int
	waiting int // kills with lines not yet taken in
	unknown int // rollouts that changed while they were read
	hits    map[failpoint.Point]int
}

// TestCrash kills writers of a cache again and again while rollouts are written.
// After each kill the cache must be what a clean read of the bytes before its
// cursors gives, and after a restart what a clean read of everything gives:
// nothing lost, nothing doubled.
func TestCrash(t *testing.T) {
	reliability.Fault(t, 1, "a daemon, a single run or a rebuild is killed (SIGKILL) 1–250 ms after its start, while another process writes rollouts")
	reliability.Fault(t, 2, "killed at the point after_read, at a random hit")
	reliability.Fault(t, 3, "killed at mid_batch, before_cursor, before_figures, before_commit, at a random hit")
	reliability.Fault(t, 4, "killed at after_commit, before_publish, before_receipt, after_receipt, mid_index, before_shared, at a random hit; of two of three workspaces documents are shared with another program")
	reliability.Fault(t, 5, "killed with half of the temporary written (mid_temp), before_rename, after_rename")
	reliability.Fault(t, 6, "killed at mid_reset and mid_rederive, at a random hit, while the writer rewrites files and a rebuild reads them again")
	reliability.Fault(t, 27, "the writer compresses and restores files step by step as Codex does, killed and checked between any two steps")
	kills, _ := strconv.Atoi(os.Getenv("CRASH_KILLS"))
	kills = max(kills, fewestKills)
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("CRASH_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("CRASH_SEED=%d", seed)
	n := &killed{hits: map[failpoint.Point]int{}}
	begun := time.Now()
	t.Run("lanes", func(t *testing.T) {
		for _, hostile := range []bool{false, true} {
			t.Run(map[bool]string{false: "tame", true: "hostile"}[hostile], func(t *testing.T) {
				t.Parallel()
				l := &lane{t: t, n: n, hostile: hostile, rnd: rand.New(rand.NewPCG(seed, uint64(len(t.Name()))))}
				l.run(kills/2, seed)
			})
		}
	})
	took := time.Since(begun)
	var points []string
	atPoints := 0
	for _, p := range failpoint.Points() {
		points = append(points, fmt.Sprintf("%s %d", p, n.hits[p]))
		atPoints += n.hits[p]
		if n.hits[p] == 0 && n.kills >= killsForAll-1 && !t.Failed() {
			t.Errorf("no kill was at %s", p)
		}
	}
	t.Logf("kills at points: %s; at random times: %d; %.1f kills/s", strings.Join(points, ", "), n.random, float64(n.kills)/took.Seconds())
	t.Logf("%d kills with lines not yet taken in; %d rollouts rewritten while they were read", n.waiting, n.unknown)
	if n.waiting == 0 && !t.Failed() {
		t.Error("no kill came while there was something to do: the test tests nothing")
	}
	if !t.Failed() {
		reliability.Figure(t, 1, "%d kills, %d of them at %d named points, %d with lines waiting: 0 lost, 0 doubled, 0 out of order, 0 torn files", n.kills, atPoints, len(points), n.waiting)
	}
}

// lane is one writer and the daemons that are killed beside it.
type lane struct {
	t       *testing.T
	n       *killed
	hostile bool
	rnd     *rand.Rand
	dir     string
	check   *checker
	scribe  *scribe
}

func (l *lane) run(kills int, seed uint64) {
	for k := 0; k < kills; {
		if k%killsCorpus == 0 && (l.check == nil || l.check.Seed != uint64(k)+seed) {
			l.renew(uint64(k) + seed)
		}
		if l.kill() {
			k++
			l.compare(fmt.Sprintf("kill %d of the lane %s, CRASH_SEED=%d", k, l.t.Name(), seed))
		}
	}
	l.end()
}

// renew begins with new files: a comparison takes as long as the files are.
func (l *lane) renew(seed uint64) {
	l.t.Helper()
	l.end()
	l.dir = scratch(l.t)
	k := task{
		Kind: taskWrite, Seed: seed, Hostile: l.hostile,
		Data: filepath.Join(l.dir, "data"), Home: filepath.Join(l.dir, "home"), Past: filepath.Join(l.dir, "past"),
		User: filepath.Join(l.dir, "user"), Work: filepath.Join(l.dir, "work"),
	}
	for _, dir := range []string{k.Home, k.User, filepath.Join(k.Work, "proj0", ".workbuddy"), filepath.Join(k.Work, "proj1", ".workbuddy")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			l.t.Fatal(err)
		}
	}
	l.check = &checker{task: k, scratch: l.dir}
	var err error
	if l.scribe, err = startScribe(k); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lane) end() {
	l.t.Helper()
	if l.scribe == nil {
		return
	}
	if err := l.scribe.stop(); err != nil {
		l.t.Fatalf("the writer: %v: %s", err, l.scribe.err)
	}
	if err := os.RemoveAll(l.dir); err != nil {
		l.t.Fatal(err)
	}
}

// scratch is a folder in memory where there is one: a kill takes nothing away
// that was written, so it needs no disk.
func scratch(t *testing.T) string {
	t.Helper()
	const shm = "/dev/shm"
	if os.Getenv("TMPDIR") == "" {
		if dir, err := os.MkdirTemp(shm, "session-migrator-crash-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) }) // if the test ended early
			return dir
		}
	}
	return t.TempDir()
}

// plan is one kill to be: at a point, or at a time.
func (l *lane) plan() (point failpoint.Point, w way, hit int) {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	if l.n.kills > 2*l.n.random || l.n.kills == 0 && l.rnd.IntN(2) == 0 {
		return 0, way{kind: pick(l.rnd, taskRun, taskRun, taskRun, taskOnce, taskRebuild), order: "grow"}, 0
	}
	var points []failpoint.Point
	for p, w := range ways {
		if !w.hostile || l.hostile {
			points = append(points, p)
		}
	}
	slices.Sort(points)
	point = pick(l.rnd, points...)
	if l.rnd.IntN(2) == 0 { // one that was seldom hit so far
		point = slices.MinFunc(points, func(a, b failpoint.Point) int { return l.n.hits[a] - l.n.hits[b] })
	}
	if w = ways[point]; w.kind == taskRun && l.rnd.IntN(3) > 0 {
		w.kind = taskOnce
	}
	return point, w, 1 + l.rnd.IntN(w.most)
}

// kill starts what is to be killed and tells whether it died of that.
func (l *lane) kill() bool {
	l.t.Helper()
	point, w, hit := l.plan()
	at := ""
	if point > 0 {
		at = fmt.Sprintf("%s:%d", point, hit)
	}
	k := l.check.task
	k.Kind = w.kind
	c, err := k.command(at)
	if err != nil {
		l.t.Fatal(err)
	}
	said := &strings.Builder{}
	c.Stderr = said
	switch {
	case w.order == "grow" && l.hostile && l.rnd.IntN(2) == 0:
		l.tell(pick(l.rnd, hostileDeeds...)) // while nobody looks
	case w.order != "":
		l.tell(w.order)
	}
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	l.tell("go")
	wait := longestRun
	switch {
	case point == 0:
		wait = time.Millisecond + time.Duration(l.rnd.Int64N(int64(longestWait)))
	case w.kind == taskRun:
		wait = longestPoint
	}
	died, itself := l.await(c, wait)
	l.tell("pause")
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	switch {
	case !died && w.kind == taskRun:
		l.t.Fatalf("the daemon ended by itself: %v: %s", c.ProcessState, said)
	case !died && !c.ProcessState.Success():
		l.t.Fatalf("the run failed: %v: %s", c.ProcessState, said)
	case !died:
		return false
	case itself && point > 0:
		l.n.hits[point]++
	default:
		l.n.random++
	}
	l.n.kills++
	return true
}

// await waits for the end of a process, and kills it when the time is up. It
// tells whether the process was killed, and whether by itself.
func (l *lane) await(c *exec.Cmd, wait time.Duration) (died, itself bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait() // ProcessState tells
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
		return c.ProcessState.ExitCode() == -1, true
	case <-timer.C:
		_ = c.Process.Kill() // it may have ended this very moment
		<-done
		return c.ProcessState.ExitCode() == -1, false
	}
}

func (l *lane) tell(order string) {
	l.t.Helper()
	if err := l.scribe.tell(order); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lane) compare(which string) {
	l.t.Helper()
	o, err := l.check.check(l.t.Context())
	if err != nil {
		l.t.Fatalf("%s: %v", which, err)
	}
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	if o.waiting {
		l.n.waiting++
	}
	if l.n.unknown += o.unknown; o.unknown > 0 && !l.hostile {
		o.add("killed", "a cursor stands behind bytes that are in no file")
	}
	if len(o.wrong) > 0 {
		if keep := os.Getenv("CRASH_KEEP"); keep != "" {
			_ = os.CopyFS(filepath.Join(keep, filepath.Base(l.t.Name())), os.DirFS(l.dir)) // a help for who looks into it
		}
		l.t.Fatalf("%s:\n\t%s", which, strings.Join(o.wrong, "\n\t"))
	}
}
