//go:build crash || faults

package daemon_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/store"
)

// checker compares a cache whose writer was killed with what the rollouts say.
// Nobody may write to either meanwhile.
type checker struct {
	task
	scratch string
	ever    rows // all items that the cache held at the last check
}

// outcome of one check.
type outcome struct {
	waiting bool     // there were lines that the cache didn't have yet
	unknown int      // rollouts that changed while they were read
	wrong   []string // each a difference
}

func (o *outcome) add(what, text string) {
	if text != "" {
		o.wrong = append(o.wrong, what+": "+text)
	}
}

// check is the whole of it: the cache as the kill left it against a clean read
// of the bytes before its cursors, then the cache after a restart against a clean
// read of everything, and the memory folder both times.
func (c *checker) check(ctx context.Context) (o outcome, err error) {
	files, err := rollouts(c.Home)
	if err != nil {
		return o, err
	}
	if err := c.killed(ctx, &o, files); err != nil {
		return o, fmt.Errorf("check the killed cache: %w", err)
	}
	if err := errors.Join(c.folder(&o), c.agedTemporaries()); err != nil {
		return o, fmt.Errorf("check the memory folder: %w", err)
	}
	if err := c.restarted(ctx, &o, files); err != nil {
		return o, fmt.Errorf("check the restarted cache: %w", err)
	}
	if err := c.places(ctx, &o); err != nil {
		return o, fmt.Errorf("check the places of other programs: %w", err)
	}
	return o, nil
}

// rollouts gives the content of every rollout below a home, the plain one of two
// forms.
func rollouts(home string) (map[string][]byte, error) {
	out := map[string][]byte{}
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		plain := strings.HasSuffix(path, ".jsonl")
		if err != nil || !d.Type().IsRegular() || len(d.Name()) < 36 || !plain && !strings.HasSuffix(path, ".jsonl.zst") {
			return err
		}
		id := rolloutID(d.Name())
		if _, ok := out[id]; ok && !plain {
			return nil
		}
		text, err := logical(path)
		if err == nil || plain {
			out[id] = text
		}
		return nil // what can't be read is named in the cache
	})
	return out, err
}

// state is how a rollout stands in a killed cache, for the comparison.
type standing struct {
	text    []byte // what was taken in
	compare bool   // its rows must be those of a clean read of text
	figures bool   // so must those of its thread
}

func (c *checker) killed(ctx context.Context, o *outcome, files map[string][]byte) error {
	db, err := store.OpenReader(ctx, c.config().DB())
	if errors.Is(err, store.ErrNone) {
		o.waiting = true
		return nil
	}
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	got, wrong, err := readRows(ctx, c.config().DB())
	if err != nil {
		return err
	}
	for _, w := range wrong {
		o.add("killed", w)
	}
	stand := map[string]*standing{}
	for id, r := range got.rollouts {
		s, err := c.standing(id, r, files)
		if err != nil {
			return err
		}
		if r.number("off") == 0 && r.number("gen") > 1 {
			o.add("killed", "rollout "+id+" stands in neither generation")
		}
		if s.text == nil && r.number("off") > 0 {
			o.unknown++
		}
		stand[id] = s
		o.waiting = o.waiting || int64(len(files[id])) > r.number("off")
	}
	c.kept(o, "killed", &got)
	return c.cleanRead(ctx, o, &got, stand)
}

// standing finds the bytes that a cursor stands behind: of the file as it is
// now, or as it was before the writer destroyed it. The cursor proves which.
func (c *checker) standing(id string, r row, files map[string][]byte) (*standing, error) {
	s := &standing{}
	off := r.number("off")
	if off == 0 {
		return s, nil // nothing is taken in
	}
	all := [][]byte{files[id]}
	past, err := filepath.Glob(filepath.Join(c.Past, id+".*"))
	if err != nil {
		return nil, err
	}
	for i := len(past) - 1; i >= 0; i-- {
		text, err := os.ReadFile(past[i])
		if err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	for _, text := range all {
		if int64(len(text)) >= off && proof(text[:r.number("head_len")]) == r.get("hex(head)") && proof(text[off-r.number("tail_len"):off]) == r.get("hex(tail)") {
			s.text = text[:off]
			// A fork that waits for its parent is read again, and so is what a rebuild asked for.
			s.compare = r.get("awaits_parent") == "" && r.number("parser_version") > 0
			s.figures = s.compare && r.get("size") != "-1" && r.get("state") == "1"
			return s, nil
		}
	}
	return s, nil
}

func proof(text []byte) string {
	sum := sha256.Sum256(text)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// cleanRead reads the same bytes into a new cache and compares.
func (c *checker) cleanRead(ctx context.Context, o *outcome, got *cacheRows, stand map[string]*standing) error {
	cut := task{Home: filepath.Join(c.scratch, "cut"), Data: filepath.Join(c.scratch, "cut-data")}
	defer func() { _ = errors.Join(os.RemoveAll(cut.Home), os.RemoveAll(cut.Data)) }() // a folder of the test's own
	if err := os.MkdirAll(cut.Home, 0o700); err != nil {
		return err
	}
	for id, s := range stand {
		if s.text == nil {
			continue
		}
		rel, err := filepath.Rel(c.Home, got.rollouts[id].get("path"))
		if err != nil {
			return err
		}
		if err := appendTo(filepath.Join(cut.Home, strings.TrimSuffix(rel, ".zst")), s.text); err != nil {
			return err
		}
	}
	var index bytes.Buffer
	for id, name := range got.names {
		fmt.Fprintf(&index, "{\"id\":%q,\"thread_name\":%q}\n", id, name.values[0])
	}
	if err := appendTo(filepath.Join(cut.Home, "session_index.jsonl"), index.Bytes()); err != nil {
		return err
	}
	if err := daemon.CatchUp(ctx, daemon.Options{Config: cut.config()}); err != nil {
		return err
	}
	want, _, err := readRows(ctx, cut.config().DB())
	if err != nil {
		return err
	}
	compare, threads := comparable(got, stand)
	const what = "killed"
	o.add(what, apart(got.rollouts.only(compare), want.rollouts.only(compare), "pending", "state", "reason", "path", "form", "archived", "size", "mtime_ns", "gen"))
	o.add(what, apart(got.items.only(compare), want.items.only(compare)))
	o.add(what, apart(got.turns.only(compare), want.turns.only(compare)))
	o.add(what, apart(got.damage.only(compare), want.damage.only(compare)))
	o.add(what, apart(got.unknown.only(compare), want.unknown.only(compare)))
	o.add(what, apart(got.threads.only(threads).placeless(), want.threads.only(threads).placeless(), "gone"))
	// What is decided changes with the windows that rollouts report; that comes after.
	o.add(what, apart(got.decisions.only(threads), want.decisions.only(threads), "verdict", "strategy", "fit", "target_tokens", "budget"))
	for id := range compare {
		c.marks(o, what, id, got, stand[id].text)
	}
	return nil
}

// comparable gives the rollouts, and the threads, whose rows a clean read of the
// same bytes must give. A thread can't be compared if any rollout that its history
// is in can't.
func comparable(got *cacheRows, stand map[string]*standing) (compare, threads map[string]bool) {
	compare, threads = map[string]bool{}, map[string]bool{}
	for id, s := range stand {
		if s.compare {
			compare[id] = true
		}
		threads[got.rollouts[id].get("thread_id")] = true
	}
	for id := range stand {
		for up := id; up != ""; up = got.rollouts[up].get("base_rollout") {
			if s := stand[up]; s != nil && !s.figures {
				threads[got.rollouts[id].get("thread_id")] = false
			}
		}
	}
	return compare, threads
}

// firstGeneration leaves the threads of which no part was ever rewritten: items are
// numbered on through the generations, and so are the references to them that
// documents hold and selections count.
func (c *cacheRows) firstGeneration(threads map[string]bool) map[string]bool {
	out := map[string]bool{}
	for id, ok := range threads {
		out[id] = ok
	}
	for id, r := range c.rollouts {
		for up := id; up != ""; up = c.rollouts[up].get("base_rollout") {
			if c.rollouts[up].values != nil && c.rollouts[up].get("gen") != "1" {
				out[r.get("thread_id")] = false
			}
		}
	}
	return out
}

// placeless takes out of threads' bodies where their files lay.
func (r rows) placeless() rows {
	out := rows{}
	for k, v := range r {
		body := map[string]any{}
		at := len(v.values) - 1
		if err := json.Unmarshal([]byte(v.values[at]), &body); err != nil {
			body["bug"] = err.Error()
		}
		delete(body, "Path")
		delete(body, "Gone")
		text, err := json.Marshal(body)
		if err != nil {
			panic("bug: " + err.Error())
		}
		out[k] = row{v.names, append(v.values[:at:at], string(text))}
	}
	return out
}

// kept sees to it that nothing that was ever taken in has gone or changed: what
// is rewritten away stays with its generation.
func (c *checker) kept(o *outcome, what string, got *cacheRows) {
	for _, key := range slices.Sorted(maps.Keys(c.ever)) {
		if id := key[:36]; got.rollouts[id].get("size") == "-1" && got.rollouts[id].get("gen") == c.ever[key].get("gen") {
			continue // a long file is read again, and not yet to its end
		}
		if is, ok := got.ever[key]; !ok || is.values[0] != c.ever[key].values[0] || is.values[1] != c.ever[key].values[1] {
			o.add(what, fmt.Sprintf("%s (all numbers, generation %s) was there, and now is %q", key, c.ever[key].values[0], is.values))
			return
		}
	}
	if !c.Hostile {
		for id, r := range got.rollouts {
			if r.get("gen") != "1" {
				o.add(what, "rollout "+id+" was read anew, though it was never rewritten")
			}
		}
	}
}

// mark is a word that was said once in a rollout.
var mark = regexp.MustCompile(`mk\d{6}`)

// marks counts without the parser: each word that stands in a message or call of
// a rollout must be in its items, once. What hostile hands wrote is not so plain.
func (c *checker) marks(o *outcome, what, id string, got *cacheRows, text []byte) {
	if c.Hostile {
		return
	}
	said := map[string]int{}
	for line := range bytes.Lines(text) {
		if bytes.HasSuffix(line, []byte("\n")) && (bytes.Contains(line, []byte(`"type":"message"`)) || bytes.Contains(line, []byte(`"type":"function_call"`))) {
			for _, m := range mark.FindAllString(string(line), -1) {
				said[m] = 0
			}
		}
	}
	for key, it := range got.items {
		if key[:36] != id || it.get("role") != "1" && it.get("role") != "2" && it.get("role") != "3" {
			continue
		}
		for _, m := range mark.FindAllString(it.get("args")+" "+it.get("text"), -1) {
			said[m]++
		}
	}
	for m, n := range said {
		if n != 1 {
			o.add(what, fmt.Sprintf("rollout %s: %s was said once, and is there %d times", id, m, n))
			return
		}
	}
}

// restarted lets a run end what was begun, and compares with a clean run.
func (c *checker) restarted(ctx context.Context, o *outcome, files map[string][]byte) error {
	if _, err := daemon.Once(ctx, daemon.Options{Config: c.config()}); err != nil {
		return err
	}
	clean := task{Home: c.Home, Data: filepath.Join(c.scratch, "clean")}
	defer func() { _ = os.RemoveAll(clean.Data) }() // a folder of the test's own
	if _, err := daemon.Once(ctx, daemon.Options{Config: clean.config()}); err != nil {
		return err
	}
	got, wrong, err := readRows(ctx, c.config().DB())
	if err != nil {
		return err
	}
	want, more, err := readRows(ctx, clean.config().DB())
	if err != nil {
		return err
	}
	const what = "restarted"
	for _, w := range append(wrong, more...) {
		o.add(what, w)
	}
	c.kept(o, what, &got)
	here, threads := map[string]bool{}, map[string]bool{}
	for id, r := range want.rollouts {
		if r.get("state") == "1" {
			// Where there is no line any more, what there was is the answer.
			is, ok := got.rollouts[id]
			here[id] = r.number("off") > 0 || ok && is.number("off") == 0
		} else if is := got.rollouts[id]; is.values == nil || is.get("state") != r.get("state") {
			o.add(what, "rollout "+id+" is not named as unreadable")
		}
		threads[r.get("thread_id")] = true
	}
	for id, r := range got.rollouts {
		if !here[id] {
			threads[r.get("thread_id")] = false // it is not what it was in the file
			if want.rollouts[id].values == nil && r.get("state") != "3" {
				o.add(what, "rollout "+id+" was deleted, and is not named so")
			}
		}
	}
	o.add(what, apart(got.rollouts.only(here), want.rollouts.only(here), "gen"))
	o.add(what, apart(got.items.only(here), want.items.only(here)))
	o.add(what, apart(got.turns.only(here), want.turns.only(here)))
	o.add(what, apart(got.damage.only(here), want.damage.only(here)))
	o.add(what, apart(got.unknown.only(here), want.unknown.only(here)))
	o.add(what, apart(got.threads.only(threads), want.threads.only(threads)))
	o.add(what, apart(got.decisions.only(threads), want.decisions.only(threads)))
	for key := range got.packs {
		if want.packs[key].values == nil {
			delete(got.packs, key) // of a budget from before: nobody asks for it any more
		}
	}
	stable := got.firstGeneration(threads)
	o.add(what, apart(got.packs.only(stable), want.packs.only(stable)))
	for id := range here {
		c.marks(o, what, id, &got, files[id])
	}
	c.ever = got.ever
	return c.memories(ctx, o, clean, want.threads.only(threads), stable)
}
