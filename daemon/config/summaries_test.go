package config_test

import (
	"strings"
	"testing"
)

func TestSummariesByCallerAreAskedFor(t *testing.T) {
	for text, want := range map[string]bool{"": false, "[summaries]\n": false, "[summaries]\nby_caller = false\n": false, "[summaries]\nby_caller = true\n": true} {
		c, err := loadText(t, text, map[string]string{})
		if err != nil || c.Summaries.ByCaller != want {
			t.Errorf("%q: %+v, %v", text, c.Summaries, err)
		}
	}
	for text, want := range map[string]string{
		"[summaries]\nby_caller = \"yes\"\n": "summaries.by_caller is of a wrong type; give true or false",
		"summaries = true\n":                 "write [summaries]",
		"[summaries]\nby_model = true\n":     `unknown key "summaries.by_model"; known are`,
	} {
		if _, err := loadText(t, text, map[string]string{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
