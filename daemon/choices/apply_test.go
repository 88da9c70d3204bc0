package choices_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/choices"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/sink"
)

func said(enabled string, workspaces ...string) choices.Choice {
	c := choices.Choice{Choice: sink.Choice{Workspaces: workspaces}}
	if yes := enabled == "on"; enabled != "" {
		c.Enabled = &yes
	}
	return c
}

func TestWhichSinkIsOn(t *testing.T) {
	for _, c := range []struct {
		mode sink.Mode
		said choices.Choice
		want bool
	}{
		{sink.ModeAlways, said(""), true},
		{sink.ModeAlways, said("off"), true},
		{sink.ModeFound, said(""), true},
		{sink.ModeFound, said("on"), true},
		{sink.ModeFound, said("off"), false},
		{sink.ModeAsked, said(""), false},
		{sink.ModeAsked, said("on"), true},
		{sink.ModeAsked, said("off"), false},
		{sink.ModeProject, said("on"), false},
		{sink.ModeProject, said("", "/w"), false},
		{sink.ModeProject, said("on", "/w"), true},
		{sink.ModeProject, said("off", "/w"), false},
	} {
		if got := c.said.On(c.mode); got != c.want {
			t.Errorf("mode %d, %+v: on %t", c.mode, c.said, got)
		}
	}
}

func TestWhatIsTakenAway(t *testing.T) {
	off, part, kept := said("off", "/w"), said("on", "/w"), said("off", "/w")
	part.Off, kept.Keep = []string{"/x"}, true
	for _, c := range []struct {
		said   choices.Choice
		leaves bool
		gone   map[string]bool
	}{
		{said(""), false, map[string]bool{"/w": false}},
		{off, true, map[string]bool{"/w": true, "/other": true}},
		{part, true, map[string]bool{"/w": false, "/x": true, "/x/sub": true, "/xy": false}},
		{kept, false, map[string]bool{}},
	} {
		if got := c.said.Leaves(sink.ModeProject); got != c.leaves {
			t.Errorf("%+v: leaves %t", c.said, got)
		}
		for folder, want := range c.gone {
			if got := c.said.Gone(folder); got != want {
				t.Errorf("%+v: %s gone %t", c.said, folder, got)
			}
		}
	}
	if off.Leaves(sink.ModeAlways) {
		t.Error("what is always on leaves something")
	}
	if f := part.Former(); !slices.Equal(f.Workspaces, []string{"/w", "/x"}) || !*f.Enabled || len(part.Workspaces) != 1 {
		t.Errorf("%+v of %+v", f, part)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		dir, folder string
		want        bool
	}{
		{"/a", "/a", true}, {"/a/", "/a/b", true}, {"/a", "/ab", false}, {"/", "/a", true}, {"/a/b", "/a", false},
		{`C:\Work`, `c:\work\x`, true}, {`C:\Work`, `D:\Work`, false},
	} {
		if got := choices.Within([]string{c.dir}, c.folder); got != c.want {
			t.Errorf("%s within %s: %t", c.folder, c.dir, got)
		}
	}
}

func TestEnvIsOfTheSettings(t *testing.T) {
	e := choices.Env(config.Config{Home: "/d", MemoryDir: "/m", User: "/u", Vars: map[string]string{"A": "1"}})
	if e.User != "/u" || e.Data != "/d" || e.Drop != "/m" || e.Vars["A"] != "1" || e.Zone == nil {
		t.Errorf("%+v", e)
	}
}

func TestNoPlaceWithoutAHomeFolder(t *testing.T) {
	opened := 0
	for _, m := range []sink.Mode{sink.ModeAlways, sink.ModeFound, sink.ModeAsked, sink.ModeProject} {
		k := sink.Consumer{Name: "a", Mode: m, Open: func(sink.Env, sink.Choice) (sink.Sink, error) { opened++; return nil, nil }}
		_, err := choices.Open(k, config.Config{}, sink.Choice{})
		if needs := m == sink.ModeFound || m == sink.ModeAsked; errors.Is(err, sink.ErrNoPlace) != needs {
			t.Errorf("mode %d: %v", m, err)
		}
		if _, err := choices.Open(k, config.Config{User: "/u"}, sink.Choice{}); err != nil {
			t.Error(err)
		}
	}
	if opened != 6 {
		t.Errorf("%d were opened", opened)
	}
}
