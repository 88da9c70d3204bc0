package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

// rowID is the row of the n-th rollout's item: rollouts are numbered in the
// order of their first commit.
func rowID(rollout, seq int64) int64 { return rollout<<32 | seq }

// found gives the texts of what is in the scope, and proves that figures, texts
// and stretches agree about it.
func found(t *testing.T, db *store.DB, sc store.Scope) string {
	t.Helper()
	var ids []int64
	for r := int64(1); r <= 3; r++ {
		for seq := int64(1); seq <= 8; seq++ {
			ids = append(ids, rowID(r, seq))
		}
	}
	fs, err := db.Figures(t.Context(), sc, ids)
	if err != nil {
		t.Fatal(err)
	}
	ms, err := db.ItemsWithin(t.Context(), sc, ids)
	if err != nil {
		t.Fatal(err)
	}
	var a, b, c, said []string
	for _, f := range fs {
		a = append(a, fmt.Sprint(f.ID))
	}
	for _, m := range ms {
		b = append(b, fmt.Sprint(m.ID))
		said = append(said, m.Body())
	}
	all, err := db.Rollouts(t.Context(), sc, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		ms, err := db.Recent(t.Context(), sc, s, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			c = append(c, fmt.Sprint(m.ID))
		}
	}
	slices.Sort(a)
	slices.Sort(b)
	slices.Sort(c)
	if !slices.Equal(a, b) || !slices.Equal(a, c) {
		t.Errorf("%+v: figures of %v, texts of %v, stretches with %v", sc, a, b, c)
	}
	return strings.Join(said, " ")
}

func TestScopeIsKept(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two", "c:{}", "r:out"))
	child := script(childID, childID, 5, "u:own", "a:said")
	child.Facts.Base = &transcript.Base{RolloutID: parentID, Ordinal: 3, Offset: 300}
	child.Facts.Cwd, child.Facts.Model = "/home/Dana/my_shop", "gpt-9-mini"
	commit(t, db, child)
	other := script(headID, headID, 1, "u:other", "c:{1}", "r:print")
	other.Facts.Cwd = `C:\Work\Shop`
	for i := range other.Delta.Items {
		if it := &other.Delta.Items[i]; it.Role != transcript.RoleUser {
			it.CallID = "call1"
		}
	}
	commit(t, db, other)
	for name, c := range map[string]struct {
		sc   store.Scope
		want string
	}{
		"everywhere":               {store.Scope{}, "one two {} out own said other {1} print"},
		"a workspace":              {store.Scope{Within: "/w"}, "one two {} out"},
		"two that exclude":         {store.Scope{Within: "/w", Workspace: "/home/Dana/my_shop"}, ""},
		"a fork with its base":     {store.Scope{Within: "/home/Dana/my_shop"}, "one two own said"},
		"the fork's thread":        {store.Scope{Threads: []string{childID}}, "one two own said"},
		"the fork, another's room": {store.Scope{Within: "/w", Threads: []string{childID}}, ""},
		"a name":                   {store.Scope{Named: []string{"MY_SHOP"}}, "one two own said"},
		"half a name":              {store.Scope{Named: []string{"shop"}}, "other {1} print"},
		"a Windows path":           {store.Scope{Named: []string{`c:\work\shop`}}, "other {1} print"},
		"like is no pattern":       {store.Scope{Named: []string{"my%shop"}}, ""},
		"a model":                  {store.Scope{Models: []string{"GPT-9"}}, "one two own said"},
		"a role":                   {store.Scope{Roles: []transcript.Role{transcript.RoleUser}}, "one own other"},
		"a tool":                   {store.Scope{Tools: []string{"EXEC"}, Named: []string{"shop"}}, "{1} print"},
		"no such tool":             {store.Scope{Tools: []string{"x"}}, ""},
		"a rollout":                {store.Scope{Rollouts: []int64{2}}, "own said"},
		"another's rollout":        {store.Scope{Rollouts: []int64{1}, Within: "/home/Dana/my_shop"}, "one two"},
	} {
		if got := found(t, db, c.sc); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestPlaceOfAnItem(t *testing.T) {
	db, _ := open(t)
	commit(t, db, script(parentID, parentID, 1, "u:one", "a:two", "u:three", "a:four"))
	child := script(childID, childID, 5, "u:own", "a:said")
	child.Facts.Base = &transcript.Base{RolloutID: parentID, Ordinal: 3, Offset: 300}
	commit(t, db, child)
	ms, err := db.ItemsWithin(t.Context(), store.Scope{}, []int64{rowID(2, 6), rowID(1, 2), rowID(1, 3)})
	if err != nil || len(ms) != 3 {
		t.Fatal(ms, err)
	}
	for i, want := range []string{"true 8 2 om_00000041.6 false", "true 2 1 om_00000040.2 true", "false"} {
		ok, err := db.Place(t.Context(), childID, &ms[i])
		got := fmt.Sprint(ok, " ", ms[i].Position, ms[i].ThreadTurn, " ", ms[i].Ref, " ", ms[i].Inherited)
		if err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("item %q is placed as %s %v, want %s", ms[i].Text, got, err, want)
		}
	}
}
