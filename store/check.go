package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Check asks SQLite for damage it can see, and compares the schema with what we
// make; ErrDamaged if there is any.
func (db *DB) Check(ctx context.Context) error {
	return errors.Join(db.check(ctx, "quick_check"), db.checkSchema(ctx))
}

// CheckAll also compares every index with its table, and every value with its
// column's type. It takes as long as reading the whole file, on a connection of
// its own. Of a cache whose file was replaced nothing is checked: who asks
// Replaced deals with that, and a connection to what lies there now would cut
// the shared memory of the open cache.
func (db *DB) CheckAll(ctx context.Context) (err error) {
	if db.moved() {
		return nil
	}
	own, err := connect(db.path, readerQuery(writerBusy), 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	own.ladder = db.ladder
	if err := errors.Join(own.check(ctx, "integrity_check"), own.checkSchema(ctx)); err != nil {
		return err
	}
	return own.checkTypes(ctx)
}

// checkTypes looks for values that can't have been written: SQLite takes any
// type in any column, and any number for a kind.
func (db *DB) checkTypes(ctx context.Context) error {
	rows, err := db.sql.QueryContext(ctx, `SELECT m.name, group_concat('(typeof('||c.name||')<>'||quote(lower(c.type))||' AND '||c.name||' IS NOT NULL)', ' OR ')
		FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type='table' AND m.name NOT LIKE 'sqlite_%' GROUP BY m.name`)
	if err != nil {
		return db.wrap("check the cache", err)
	}
	defer rows.Close()
	wrong := map[string]string{}
	for rows.Next() {
		var table, condition string
		if err := rows.Scan(&table, &condition); err != nil {
			return db.wrap("check the cache", err)
		}
		wrong[table] = condition
	}
	wrong["rollout"] += " OR " + oddKinds
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return db.wrap("check the cache", err)
	}
	for table, condition := range wrong {
		var found bool
		if err := db.sql.QueryRowContext(ctx, "SELECT EXISTS(SELECT 1 FROM "+table+" WHERE "+condition+")").Scan(&found); err != nil { //nolint:gosec // names of ours
			return db.wrap("check the cache", err)
		}
		if found {
			return fmt.Errorf("check cache %s: %w: a value that is never written, in %s", db.path, ErrDamaged, table)
		}
	}
	return nil
}

// checkSchema compares the schema with what the ladder makes of nothing: SQLite
// believes whatever stands there.
func (db *DB) checkSchema(ctx context.Context) error {
	got, err := schemaText(ctx, db.sql)
	if err != nil {
		return db.wrap("check the schema", err)
	}
	fresh, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		return fmt.Errorf("check the schema: %w", err)
	}
	defer func() { _ = fresh.Close() }() // nothing is in it
	fresh.SetMaxOpenConns(1)             // each connection has a memory of its own
	for _, step := range db.ladder.steps {
		text, err := fs.ReadFile(db.ladder.from, step)
		if err != nil {
			return fmt.Errorf("read migration %s: %w", step, err)
		}
		if _, err := fresh.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("check the schema: %w", err)
		}
	}
	want, err := schemaText(ctx, fresh)
	if err != nil {
		return fmt.Errorf("check the schema: %w", err)
	}
	if got != want {
		return fmt.Errorf("check cache %s: %w: its schema is not the one that was made", db.path, ErrDamaged)
	}
	return nil
}

func schemaText(ctx context.Context, q queryer) (string, error) {
	lines, err := texts(ctx, q, "SELECT type||' '||name||' '||tbl_name||' '||coalesce(sql,'') FROM sqlite_schema ORDER BY type, name")
	return strings.Join(lines, "\n"), err
}

func (db *DB) check(ctx context.Context, pragma string) error {
	var answer string
	if err := db.sql.QueryRowContext(ctx, "PRAGMA "+pragma+"(1)").Scan(&answer); err != nil {
		return db.wrap("check the cache", err)
	}
	if answer != "ok" {
		return fmt.Errorf("check cache %s: %w: %s", db.path, ErrDamaged, answer)
	}
	return nil
}
