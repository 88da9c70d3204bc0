package main

import "testing"

func TestFixesOfWatching(t *testing.T) {
	for problem, want := range map[string][2]string{
		"not enough watches for all folders: no space left on device; looking by the clock meanwhile; allow more with: sudo sysctl fs.inotify.max_user_watches=524288": {
			"not enough watches for all folders: no space left on device; looking by the clock meanwhile", "sudo sysctl fs.inotify.max_user_watches=524288",
		},
		"/h/sessions: permission denied; let this user read it: chmod u+rX /h/sessions": {"/h/sessions: permission denied", "chmod u+rX /h/sessions"},
		"/h: changes come without events; looking by the clock (nothing to do; network and shared folders are so)": {
			"/h: changes come without events; looking by the clock", elsewhereHome,
		},
		"/h/rollout.jsonl: not a regular file": {"/h/rollout.jsonl: not a regular file", "see that you may read it"},
	} {
		if what, fix := watchFix(problem); what != want[0] || fix != want[1] {
			t.Errorf("%q: %q, %q", problem, what, fix)
		}
	}
}
