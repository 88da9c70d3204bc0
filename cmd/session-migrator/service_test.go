package main

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestAgainAfterAFailureLaterEachTime(t *testing.T) {
	for _, c := range []struct {
		code, n int
		wait    time.Duration
		yes     bool
	}{
		{exitDone, 1, 0, false},
		{exitUsage, 1, 0, false},
		{exitFailed, 1, 2 * time.Second, true},
		{exitFailed, 3, 8 * time.Second, true},
		{exitLocked, 50, againMost, true},
	} {
		if wait, yes := again(c.code, c.n); wait != c.wait || yes != c.yes {
			t.Errorf("code %d for the %d. time: %s, %v; want %s, %v", c.code, c.n, wait, yes, c.wait, c.yes)
		}
	}
}

func TestOverlayCountsBeforeTheEnvironment(t *testing.T) {
	env, err := overlay(func(name string) string { return "shell's " + name }, []string{"HOME=/home/da na", "A=", "B=x=y"})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{env("HOME"), env("A"), env("B"), env("C")}
	if want := []string{"/home/da na", "", "x=y", "shell's C"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, bad := range []string{"A", "=x"} {
		if _, err := overlay(env, []string{bad}); !errors.As(err, new(usageError)) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc", 2, "b\nc"},
		{"a\nb\n", 5, "a\nb\n"},
		{"a\n", 0, ""},
		{"", 3, ""},
		{"\n\n\n", 2, "\n\n"},
	} {
		if got := string(lastLines([]byte(c.text), c.n)); got != c.want {
			t.Errorf("last %d of %q: %q, want %q", c.n, c.text, got, c.want)
		}
	}
}

// The doctor gives each problem its own fix, and doesn't say again what the
// daemon's checks said; status says both in one sentence.
func TestServiceProblemsAreToldOnceEachWithItsFix(t *testing.T) {
	problems := []serviceProblem{
		{what: "the program /x is not there", fix: "install it again, then run " + fixByInstall, broken: true},
		{what: "version 1 runs, version 2 is installed", fix: fixByRestart, also: checkVersion},
		{what: "the service watches a, this shell asks for b", fix: fixByInstall, also: checkSettings},
		{what: "it is alone"},
	}
	d := doctor{checks: []checkJSON{{Name: checkVersion, State: healthWarn}}}
	d.serviceProblems(problems)
	want := []checkJSON{
		{"service", healthBroken, "the program /x is not there", "install it again, then run " + fixByInstall},
		{"service", healthWarn, "the service watches a, this shell asks for b", fixByInstall},
		{"service", healthWarn, "it is alone", `"session-migrator service status" says more`},
	}
	if got := d.checks[1:]; !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := problems[1].String(); got != `version 1 runs, version 2 is installed: "session-migrator service restart"` {
		t.Errorf("got %s", got)
	}
}
