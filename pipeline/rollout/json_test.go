package rollout

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/session-migrator/session-migrator/daemon/reliability"
)

func TestWhole(t *testing.T) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `true`, `false`, `0`, `-1.5e+3`, `""`, ` {"a" : [1, 2 , {"b":null}] } `, `"\u00e9\\\"\/"`,
		``, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `[1,]`, `[,1]`, `01`, `-`, `1.`, `1e`, `.5`, `+1`, `tru`, `nul`, `"`, `"\x"`, `"\u12"`,
		"\"\x01\"", "\"\x00\"", `{"a":1}}`, `{"a":1} x`, `{'a':1}`, "{\"a\":\"\xff\"}", `{"a":1 "b":2}`, `[1 2]`, "\xEF\xBB\xBF{}",
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
		strings.Repeat("[", 9999) + "1" + strings.Repeat("]", 9999),
	} {
		if _, got := whole([]byte(s)); got != json.Valid([]byte(s)) {
			t.Errorf("whole(%.60q) = %t, encoding/json says %t", s, got, !got)
		}
	}
}

func TestUnquote(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", `"abc"`, "abc"},
		{"escapes", `"a\"\\\/\b\f\n\r\tz"`, "a\"\\/\b\f\n\r\tz"},
		{"unicode", `"\u4f60\u597d \ud83d\ude42"`, "你好 🙂"},
		{"lone high surrogate", `"a\ud83dz"`, "a\uFFFDz"},
		{"lone low surrogate", `"\ude42"`, "\uFFFD"},
		{"two high surrogates", `"\ud83d\ud83d\ude42"`, "\uFFFD🙂"},
		{"high surrogate at the end", `"a\ud83d"`, "a\uFFFD"},
		{"cut sequence is one replacement", "\"\xF0\x9F\x99x\"", "\uFFFDx"},
		{"cut sequence before an escape", "\"\xF0\x9F\x99\\n\"", "\uFFFD\n"},
		{"stray continuation bytes", "\"\x80\x80\"", "\uFFFD\uFFFD"},
		{"surrogate in UTF-8", "\"\xED\xA0\x80\"", "\uFFFD\uFFFD\uFFFD"},
		{"overlong", "\"\xC0\xAF\xE0\x80\xAF\"", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"above U+10FFFF", "\"\xF4\x90\x80\x80\"", "\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"nearly good", "\"\xE4\xBD\xE4\xBD\xA0\"", "\uFFFD你"},
		{"long", `"` + strings.Repeat("x", 100) + `\n` + strings.Repeat("y", 100) + `"`, strings.Repeat("x", 100) + "\n" + strings.Repeat("y", 100)},
	} {
		if got := unquote([]byte(c.in)); got != c.want {
			t.Errorf("%s: unquote(%q) = %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

// FuzzScanner compares the scanner with encoding/json.
func FuzzScanner(f *testing.F) {
	reliability.Figure(f, 23, "scanner against encoding/json: the seeds and all inputs that were ever found wrong; make fuzz goes on from them")
	for _, s := range []string{`{"a":1,"b":"\u00e9x","a":[true,null,{"c":-0.5e3}]}`, `{"timestamp":"2026","payload":{"type":"x"}}`, `["\ud83d\ude42","\n"]`, "\"\xff\"", `{"a":}`,
		`{"a":{"b":1},"a":{"c":[1e400,-0.0,"\ud83d\ud83d\ude42"]},"\u0061":2,"":{"":null}}`, `[[[[{"x":[{}]}]]], 1E5 ]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ok := whole(b)
		if ok != json.Valid(b) {
			t.Fatalf("whole says %t of %q", ok, b)
		}
		if !ok {
			return
		}
		// The walkers stay within bounds on cut-off values, too.
		for i := range min(len(v), 40) {
			walk(v[:i])
		}
		if utf8.Valid(b) {
			dec := json.NewDecoder(bytes.NewReader(b))
			dec.UseNumber()
			var all any
			if err := dec.Decode(&all); err != nil {
				t.Fatal(err)
			}
			if got := tree(t, v); !reflect.DeepEqual(got, all) {
				t.Fatalf("read as %#v, want %#v", got, all)
			}
		}
		var want map[string]json.RawMessage
		if !v.isObject() || json.Unmarshal(v, &want) != nil || !utf8.Valid(b) {
			walk(v)
			return
		}
		got := map[string]raw{}
		w := v.members()
		for {
			k, m, more := w.member()
			if !more {
				break
			}
			got[string(k)] = m
		}
		if w.closed() != len(v) {
			t.Fatalf("walk of %q ended at %d", v, w.i)
		}
		if len(got) != len(want) {
			t.Fatalf("%d members, want %d", len(got), len(want))
		}
		for k, m := range want {
			if string(got[k]) != string(m) {
				t.Fatalf("member %q is %q, want %q", k, got[k], m)
			}
			var s string
			if got[k].isString() && json.Unmarshal(m, &s) == nil && got[k].str() != s {
				t.Fatalf("text %q, want %q", got[k].str(), s)
			}
			var n int64
			if json.Unmarshal(m, &n) == nil && !got[k].isNull() && got[k].integer() != n {
				t.Fatalf("number %d, want %d", got[k].integer(), n)
			}
		}
	})
}

func walk(v raw) {
	for w := v.members(); ; {
		_, m, ok := w.member()
		if !ok {
			break
		}
		walk(m)
		_ = m.str()
	}
	for w := v.elements(); ; {
		m, ok := w.element()
		if !ok {
			break
		}
		walk(m)
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]string{
		`"2026-11-29T15:00:52.376Z"`:      "2026-11-29T15:00:52.376Z",
		`"2026-02-30T15:00:52.376Z"`:      "0001-01-01T00:00:00Z",
		`"2026-11-29T15:00:52.376+08:00"`: "2026-11-29T07:00:52.376Z",
		`"2026-11-29T15:24:17.2066946Z"`:  "2026-11-29T15:24:17.2066946Z",
		`1756717206`:                      "2025-09-01T09:00:06Z",
		`1756717206500`:                   "2025-09-01T09:00:06.5Z",
		`"yesterday"`:                     "0001-01-01T00:00:00Z",
		`null`:                            "0001-01-01T00:00:00Z",
		`{}`:                              "0001-01-01T00:00:00Z",
		`1e300`:                           "0001-01-01T00:00:00Z",
		`-5`:                              "0001-01-01T00:00:00Z",
	} {
		if got := parseTime(raw(in)).Format("2006-01-02T15:04:05.999999999Z07:00"); got != want {
			t.Errorf("parseTime(%s) = %s, want %s", in, got, want)
		}
	}
	if got := idTime("01a227d8-fc73-7e41-bbf0-6794e7df0e6a").UnixMilli(); got != 0x01a227d8fc73 {
		t.Errorf("idTime = %d", got)
	}
	for _, id := range []string{"", "turn-1", "rollout-5", "7b6f0c1a-1111-4222-8333-000000000001", "01a227d8-zc73-7e41-bbf0-6794e7df0e6a"} {
		if got := idTime(id); !got.IsZero() {
			t.Errorf("idTime(%q) = %s", id, got)
		}
	}
}

func TestPreview(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"  a\n\n b\t c ", "a b c"},
		{strings.Repeat("é", 10), "éé"},
		{"abcd efgh", "abcd"},
		{strings.Repeat(" ", 500) + "x", "x"},
		{"", ""},
	} {
		if got := preview(c.in, 5); got != c.want {
			t.Errorf("preview(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestHeaderExit(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       int
		ok         bool
	}{
		{"plain header", "Exit code: 7\nWall time: 0.2 seconds\nOutput:\nExit code: 9\n", 7, true},
		{"unified exec", "Chunk ID: 71d5b3\nWall time: 0.05 seconds\nProcess exited with code 3\nOriginal token count: 1\nOutput:\ntwo\n", 3, true},
		{"with the command", "Command: /bin/bash -lc 'x'\nChunk ID: 1\nWall time: 0 seconds\nProcess exited with code 0\nOriginal token count: 2\nOutput:\nx", 0, true},
		{"still running", "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 5\nOutput:\nExit code: 4\n", 0, false},
		{"program's own words", "Exit code: 5\nbye\n", 0, false},
		{"program's own words behind an output", "Wall time: 1 seconds\nOutput:\nExit code: 5\n", 0, false},
		{"failure", "failed in sandbox LinuxSeccomp with execution error: exit code: 124", 124, true},
		{"negative", "Exit code: -1\nOutput:\n", -1, true},
		{"no number", "Exit code: none\nOutput:\n", 0, false},
		{"empty", "", 0, false},
	} {
		if code, ok := headerExit(c.text); code != c.code || ok != c.ok {
			t.Errorf("%s: %d %t, want %d %t", c.name, code, ok, c.code, c.ok)
		}
	}
}

func TestInjected(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"<environment_context>\n<cwd>/x</cwd>\n</environment_context>", true},
		{"  <ENVIRONMENT_CONTEXT>x</Environment_Context>\n", true},
		{"<user_instructions>\n\n# Rules</user_instructions>", true},
		{"# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>a</INSTRUCTIONS>", true},
		{"# AGENTS.md instructions are missing, please write some", false},
		{"<turn_aborted>\nThe user interrupted\n</turn_aborted>", true},
		{"<hook_prompt hook=\"x\">y</hook_prompt>", true},
		{"<codex_internal_context source=\"goal\">y</codex_internal_context>", true},
		{"<external_docs>y</external_docs>", true},
		{"<external_docs>y</external_other>", false},
		{"<environment_context> is what I want to change", false},
		{"<skillful>x</skillful>", false},
		{"<skill>x</skill>", true},
		{"Another language model started to solve this problem and produced a summary of…", true},
		{"You were originally given instructions from a user over one or more turns. Here were the user messages:\n…", true},
		{"Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead.", true},
		{"Warning: the build is red", false},
		{"<", false}, {"", false}, {"hello", false},
	} {
		if got := injected(c.text); got != c.want {
			t.Errorf("injected(%q) = %t", c.text, got)
		}
	}
}

func TestRequestsJSON(t *testing.T) {
	var q requests
	for i := range int64(1000) {
		q.push(request{i*3 + 1, i%4 != 0})
	}
	j, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if len(j) > 1400 {
		t.Errorf("1000 requests take %d bytes", len(j))
	}
	var back requests
	if err := json.Unmarshal(j, &back); err != nil {
		t.Fatal(err)
	}
	for i := range q {
		if q[i] != back[i] {
			t.Fatalf("request %d: %v, want %v", i, back[i], q[i])
		}
	}
	for range 2 * maxRequests {
		q.push(request{q[len(q)-1].seq + 1, true})
	}
	if len(q) > maxRequests {
		t.Errorf("%d requests are kept", len(q))
	}
	if err := json.Unmarshal([]byte(`"////"`), &back); err == nil {
		t.Error("a cut-off list was read")
	}
}
