package pipeline

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store/search"
)

const searchedSecret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"

func hit(role transcript.Role, text string, words ...string) search.Hit {
	h := search.Hit{Message: transcript.Message{Item: transcript.Item{Role: role, Text: text}}, Words: words}
	if role == transcript.RoleToolCall {
		h.Message.Text, h.Message.Args, h.Message.Name = "", text, "exec_command"
	}
	return h
}

// What is shown is cut out of a text without secrets, never the other way round.
func TestSnippetsHoldNoPartOfASecret(t *testing.T) {
	for _, before := range []int{0, 1, 200, 235, 239, 240, 241, 5000} {
		text := strings.Repeat("x", before) + " deploy " + searchedSecret + " now " + strings.Repeat("y ", 3000)
		for _, role := range []transcript.Role{transcript.RoleUser, transcript.RoleToolResult, transcript.RoleToolCall} {
			h := hit(role, text, "deploy", "now")
			got, ok := hitOf(&h)
			if !ok {
				t.Fatalf("%v after %d: no hit", role, before)
			}
			for i := 0; i+6 <= len(searchedSecret); i++ {
				if strings.Contains(got.Snippet, searchedSecret[i:i+6]) {
					t.Fatalf("%v after %d: %q", role, before, got.Snippet)
				}
			}
			if n := utf8.RuneCountInString(got.Snippet); n > snippetLength || !strings.Contains(got.Snippet, "deploy") {
				t.Errorf("%v after %d: %d characters: %q", role, before, n, got.Snippet)
			}
		}
	}
}

// An item that answers by its secret is no hit, whatever else it answers by:
// who may ask for parts of it finds the rest.
func TestSecretsCantBeAskedFor(t *testing.T) {
	const text = "deploy with " + searchedSecret + " today"
	for _, c := range []struct {
		words []string
		want  bool
	}{
		{[]string{"deploy"}, true},
		{[]string{"DEPLOY", "Today"}, true},
		{[]string{searchedSecret}, false},
		{[]string{"ghp_0123"}, false},
		{[]string{"abcdefghij"}, false},
		{[]string{"deploy", "012345"}, false},
		{[]string{"deploy", "nowhere"}, true}, // one of several is enough
	} {
		h := hit(transcript.RoleUser, text, c.words...)
		if _, ok := hitOf(&h); ok != c.want {
			t.Errorf("%q: a hit: %t", c.words, ok)
		}
	}
}

// What this program put into a session is not what was said in it.
func TestOwnAnswersAreNoHits(t *testing.T) {
	answer := `{"hits":[{"session_id":"019a","title":"x","ref":"om_1.1","role":"user","time":"","snippet":"walrus"}]}`
	call := hit(transcript.RoleToolCall, `{"query":"walrus"}`, "walrus")
	call.Message.Name = "mcp__session-migrator__search_sessions"
	for name, h := range map[string]search.Hit{
		"our call":                 call,
		"our answer":               hit(transcript.RoleToolResult, "Output:\n"+answer, "walrus"),
		"our answer, JSON in JSON": hit(transcript.RoleToolResult, `[{"type":"text","text":"`+strings.ReplaceAll(answer, `"`, `\"`)+`"}]`, "walrus"),
	} {
		if _, ok := hitOf(&h); ok {
			t.Errorf("%s is a hit", name)
		}
	}
	for name, h := range map[string]search.Hit{
		"somebody's words": hit(transcript.RoleUser, "the answer was "+answer, "walrus"),
		"another call":     hit(transcript.RoleToolCall, `{"cmd":"grep walrus"}`, "walrus"),
		"another answer":   hit(transcript.RoleToolResult, `{"hits":[{"name":"walrus"}]}`, "walrus"),
	} {
		if _, ok := hitOf(&h); !ok {
			t.Errorf("%s is no hit", name)
		}
	}
}
