//go:build linux && faults

package daemon

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/reliability"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
	"github.com/session-migrator/session-migrator/store"
)

// otherValues are what damage makes of a value, by the type of its column.
var otherValues = map[string][]string{
	"INTEGER": {"%s+1", "%s-1", "%s+1000000", "-%s-1", "0", "NULL", "'x'"},
	"TEXT":    {"'x'||%s", "substr(%s, 2)", "''", "7"},
	"BLOB":    {"zeroblob(length(%s))", "x''", "NULL"},
}

// change is one value changed behind the back of the program.
type change struct{ name, query string }

// changesOf gives what to do to each column of the tables given: to a row in the
// middle, or to that of a rollout that begins in another one.
func changesOf(t *testing.T, path string, tables ...string) (all []change) {
	t.Helper()
	for _, c := range columnsOf(t, path, tables...) {
		at := 2
		if c.table == "rollout" {
			at = 3
		}
		for _, v := range otherValues[c.kind] {
			all = append(all, change{
				c.table + "/" + c.name + "=" + strings.ReplaceAll(v, "%s", "it"),
				fmt.Sprintf("UPDATE %s SET %s=%s WHERE (%s) IN (SELECT %[4]s FROM %[1]s LIMIT 1 OFFSET (SELECT count(*) FROM %[1]s)*%[5]d/4)",
					c.table, c.name, strings.ReplaceAll(v, "%s", c.name), c.key, at),
			})
		}
	}
	return all
}

// with gives a data folder with a cache in which something was changed; false if
// its tables can't hold that.
func with(t *testing.T, home string, whole []byte, c change) (Options, bool) {
	t.Helper()
	opt := settings(home, filepath.Join(t.TempDir(), "data"))
	if err := os.MkdirAll(opt.Config.Home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(opt.Config.DB(), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	err := execute(t, opt.Config.DB(), c.query)
	if err != nil && !strings.Contains(err.Error(), "constraint") && !strings.Contains(err.Error(), "mismatch") {
		t.Fatalf("%s: %v", c.query, err)
	}
	return opt, err == nil
}

// odd is a rollout with a bit of everything, and a fork of it.
func odd() []*rollouttest.Rollout {
	r := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-000000000510"})
	r.User("one").Assistant("yes").Tokens(1000, 10, 20, 5).End().User("two").End().Rollback(1).
		Raw(`{"timestamp":"2026-09-01T09:00:00Z","type":"no such kind","payload":{}}`).Raw("no JSON at all")
	return []*rollouttest.Rollout{r, r.Fork(rollouttest.Options{ThreadID: "019a0000-0000-7000-8000-000000000511"}).User("in the fork").End()}
}

func TestFaultAnyValue(t *testing.T) {
	reliability.Fault(t, 44, "each column of what is derived changed to several other values; then a start and a check of all rollouts")
	home, want, whole := derived(t, append(fiveThreads()[3:], odd()...))
	path := filepath.Join(t.TempDir(), "whole.db")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, c := range changesOf(t, path, "rollout", "item", "turn", "damage", "unknown", "thread", "decision", "target") {
		t.Run(c.name, func(t *testing.T) {
			opt, ok := with(t, home, whole, c)
			if !ok {
				return
			}
			tried++
			steps, check := healedBy(t, opt)
			if got := tables(t, opt.Config.DB()); got != want {
				t.Errorf("steps %q, found %+v: %s", steps, check.Found, differ(got, want))
			}
		})
	}
	if tried < 400 {
		t.Errorf("only %d values were changed", tried)
	}
	reliability.Figure(t, 10, "%d changes of single values in the cache's tables: all equal a clean read after one check of all", tried)
}

// kept are rows that no rollout gives.
var kept = []string{
	"INSERT INTO shared VALUES('claude','/p/CLAUDE.md','{}')",
	"INSERT INTO summary VALUES('019a0000-0000-7000-8000-000000000510',1,'m',1,5,'{}')",
	"INSERT INTO summary_try VALUES('019a0000-0000-7000-8000-000000000510',1,'m',1,'why')",
	"INSERT INTO spend VALUES(1,5,1,'h','m',1,1,1,1,1,'',1)",
	"INSERT OR IGNORE INTO window_seen VALUES('gpt-5.5',1000,5)",
	"INSERT INTO thread_name VALUES('019a0000-0000-7000-8000-000000000510','its name')",
	"INSERT INTO counted VALUES(1,'v',1,1,1,1,1)",
	"INSERT INTO pack VALUES(1,'v',1,1,1,1,1)",
	`INSERT OR REPLACE INTO meta VALUES('recovered','{"at":"2026-12-01T00:00:00Z"}')`,
	`INSERT OR REPLACE INTO meta VALUES('rebuild','{"since":"2026-12-01T00:00:00Z"}')`,
	"PRAGMA wal_checkpoint(TRUNCATE)",
}

// TestFaultAnyValueKept: what was changed may be lost, but nothing else, and
// nothing goes on for ever.
func TestFaultAnyValueKept(t *testing.T) {
	reliability.Fault(t, 44, "each column of what is not derived changed to several other values; then a daemon's run")
	home := t.TempDir()
	put(t, home, odd(), 1)
	put(t, home, odd(), 1)
	opt := settings(home, filepath.Join(t.TempDir(), "data"))
	untilWritten(t, opt)
	for _, q := range kept {
		if err := execute(t, opt.Config.DB(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	whole, err := os.ReadFile(opt.Config.DB())
	if err != nil {
		t.Fatal(err)
	}
	all := changesOf(t, opt.Config.DB(), "receipt", "shared", "summary", "summary_try", "spend", "window_seen", "home", "thread_name", "counted", "pack", "checked")
	for _, version := range []int{0, 1, 7, -1, -8} {
		all = append(all, change{fmt.Sprint("schema=", version), fmt.Sprint("PRAGMA user_version=", version)})
	}
	all = append(all, change{"application=5", "PRAGMA application_id=5"})
	for _, key := range []string{backupKey, checkKey, recoveredKey, "rebuild", cleanKey, "targets", goneKey} {
		for _, v := range append(otherValues["TEXT"], "%s||'}'") {
			v = strings.ReplaceAll(v, "%s", "value")
			all = append(all, change{"meta/" + key + "=" + v, "UPDATE meta SET value=" + v + " WHERE key='" + key + "'"})
		}
	}
	for _, c := range all {
		if c.name == "receipt/name=''" {
			continue // the document was taken away when it was past its time
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opt, ok := with(t, home, whole, c)
			if !ok {
				return
			}
			healedBy(t, opt)
			if steps, _ := healedBy(t, opt); len(steps) > 0 {
				t.Errorf("again: %q", steps)
			}
			untilWritten(t, opt)
			db, err := store.OpenReader(t.Context(), opt.Config.DB())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			_, careErr := CareOf(t.Context(), db)
			filling, err := pipeline.Rebuilding(t.Context(), db)
			if err := errors.Join(careErr, err, db.CheckAll(t.Context())); err != nil || filling != nil {
				t.Errorf("%v, filling: %v", err, filling)
			}
		})
	}
}

// untilWritten runs a daemon until the documents of both threads are there.
func untilWritten(t *testing.T, opt Options) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opt.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, opt) }()
	for ctx.Err() == nil {
		documents, err := filepath.Glob(filepath.Join(opt.Config.MemoryDir, "projects", "*", "*-0*.md"))
		if err != nil {
			t.Fatal(err)
		}
		if len(documents) == 2 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Error("no documents")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

type column struct{ table, key, name, kind string }

// columnsOf are those of the tables given.
func columnsOf(t *testing.T, path string, tables ...string) (all []column) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range tables {
		rows, err := db.QueryContext(t.Context(), "SELECT (SELECT group_concat(name) FROM pragma_table_info(?1) WHERE pk>0), name, type FROM pragma_table_info(?1)", table)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			c := column{table: table}
			if err := rows.Scan(&c.key, &c.name, &c.kind); err != nil {
				t.Fatal(err)
			}
			all = append(all, c)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// execute does what the program doesn't know of.
func execute(t *testing.T, path, query string) error {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), query)
	return err
}
