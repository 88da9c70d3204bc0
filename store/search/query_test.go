package search

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

var parseNow = time.Date(2026, 11, 30, 15, 0, 0, 0, time.UTC)

// shape writes a question's terms as one line: "p:" phrase, "b*" prefix, "-" without.
func shape(q question) string {
	var out []string
	one := func(t term, sign string) {
		out = append(out, sign+map[termKind]string{termText: "", termPhrase: "p:", termPrefix: "b:"}[t.kind]+t.text)
	}
	for _, t := range q.terms {
		one(t, "")
	}
	for _, t := range q.without {
		one(t, "-")
	}
	return strings.Join(out, "|")
}

func TestQuestionsAreReadAsTyped(t *testing.T) {
	for _, c := range []struct{ typed, want string }{
		{"", ""},
		{"   \t ", ""},
		{"flaky upload test", "flaky|upload|test"},
		{`"exit status 1" upload`, "p:exit status 1|upload"},
		{"„ohne Netz“ Fehler", "p:ohne Netz|Fehler"},
		{"“smart quotes” here", "p:smart quotes|here"},
		{"「上传失败」 重试", "p:上传失败|重试"},
		{"uplo* retr**", "b:uplo|b:retr"},
		{"*** * -", "***|*|-"},
		{"upload -s3", "upload|-s3"},
		{`upload -"access denied"`, "upload|-p:access denied"},
		{"git push --force", "git|push|--force"},
		{"a - b", "a|-|b"},
		{"-only", "only"},
		{`an "open quote`, "an|open|quote"},
		{`"`, ""},
		{`""`, ""},
		{`foo"bar baz"qux`, "foo|p:bar baz|qux"},
		{"http://x.test/a?b=c", "http://x.test/a?b=c"},
		{`C:\Users\dana\x.go`, `C:\Users\dana\x.go`},
		{"Error: no such file", "Error:|no|such|file"},
		{"role: the user", "role:|the|user"},
		{"a AND b", "a|b"},
		{"(a OR b) NEAR(c d, 5)", "(a|b)|NEAR(c|d,|5)"},
		{"text:a {x y} ^z a+b", "text:a|{x|y}|^z|a+b"},
		{"nul\x00in\x01it \xff", "nul|in|it"},
		{"全角　空白", "全角|空白"},
		{"path:\"a b.go\" x", "x"},
		{"one\n-race \"two\npath:x", "one|-race|\"two|path:x"},
		{"-path:x y", "path:x|y"},
	} {
		if got := shape(parse(c.typed, parseNow)); got != c.want {
			t.Errorf("%q is read as %q, want %q", c.typed, got, c.want)
		}
	}
}

func TestFiltersAreTakenOut(t *testing.T) {
	q := parse(`fix PATH:store/search path:"my file.go" workspace:shop role:user Role:tool tool:exec_command model:gpt-5 session:019a2b3c since:7d`, parseNow)
	want := filter{
		paths: []string{"store/search", "my file.go"}, workspaces: []string{"shop"},
		roles: []transcript.Role{transcript.RoleUser, transcript.RoleToolCall, transcript.RoleToolResult},
		tools: []string{"exec_command"}, models: []string{"gpt-5"}, sessions: []string{"019a2b3c"},
		since: parseNow.AddDate(0, 0, -7),
	}
	if !reflect.DeepEqual(q.filter, want) || shape(q) != "fix" || len(q.notes) > 0 {
		t.Errorf("read as %+v %q %q", q.filter, shape(q), q.notes)
	}
}

func TestTimesOfAFilter(t *testing.T) {
	for s, want := range map[string]string{
		"12h": "2026-11-30T03:00:00Z", "90m": "2026-11-30T13:30:00Z", "2w": "2026-11-16T15:00:00Z", "1Y": "2025-11-30T15:00:00Z",
		"2026-11-01": "2026-11-01T00:00:00Z", "2026-11": "2026-11-01T00:00:00Z", "today": "2026-11-30T00:00:00Z",
		"2026-11-01T08:00:00+02:00": "2026-11-01T06:00:00Z", "2026-11-01t08:00": "", "yesterdayish": "", "d": "", "-3d": "", "999999999999d": "", "7": "", "2026-13-01": "",
	} {
		got, ok := instant(s, parseNow)
		if ok != (want != "") || ok && got.UTC().Format(time.RFC3339) != want {
			t.Errorf("since %q is %v %v, want %q", s, got, ok, want)
		}
	}
}

func TestWhatIsReadOtherwiseIsTold(t *testing.T) {
	for typed, want := range map[string]string{
		"a since:yesterdayish":               "since:yesterdayish is no time that is understood",
		"a role:boss":                        "role:boss is no role",
		"a path:\"\"":                        "path: has no value",
		"a OR b":                             "OR is no operator here",
		"-x":                                 "-x alone leaves nothing to look for",
		"-role:user x":                       "-role: can't be asked for",
		strings.Repeat("ab ", 100):           "more than 64 words",
		strings.Repeat("long text ", 10_000): "the question is long",
	} {
		q := parse(typed, parseNow)
		if !slices.ContainsFunc(q.notes, func(n string) bool { return strings.HasPrefix(n, want) || strings.Contains(n, want) }) {
			t.Errorf("%.30q: notes %q, want one with %q", typed, q.notes, want)
		}
	}
	if q := parse(`how is "path:x" 5" AND (what) a:b -c`, parseNow); len(q.notes) > 0 {
		t.Errorf("told of what was read as typed: %q", q.notes)
	}
	q := parse("a since:yesterdayish", parseNow)
	if got := fmt.Sprint(shape(q), " ", q.filter.since.IsZero()); got != "a|since|yesterdayish true" {
		t.Errorf("a time that is none is read as %s", got)
	}
}
