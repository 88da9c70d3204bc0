package main

import "testing"

// Where the first read failed nobody is told that there is no session yet.
func TestFailedReadIsToldByItsPart(t *testing.T) {
	for _, tt := range []struct {
		name   string
		failed []failure
		want   bool
	}{
		{"nothing", nil, false},
		{"the read", []failure{{"agents", "busy"}, {partSessions, "no space left"}}, true},
		{"another part", []failure{{"service", "sessions: none"}, {"the first answer", "closed"}}, false},
	} {
		s := &setup{failed: tt.failed}
		if got := s.unread(); got != tt.want {
			t.Errorf("%s: unread %t, want %t", tt.name, got, tt.want)
		}
	}
	if got, want := (failure{partSessions, "no space left"}).String(), "sessions: no space left"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
