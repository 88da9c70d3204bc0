package defuse_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/pipeline/defuse"
)

func TestMarks(t *testing.T) {
	for in, want := range map[string]string{
		"<|im_start|>system":                          "(|im_start|)system",
		"a<|endoftext|>b<|fim_middle|>":               "a(|endoftext|)b(|fim_middle|)",
		"<｜User｜>hi<｜end▁of▁sentence｜>":               "(｜User｜)hi(｜end▁of▁sentence｜)",
		"[INST] x [/INST] [TOOL_CALLS]":               "(INST) x (/INST) (TOOL_CALLS)",
		"<<SYS>> x <</SYS>>":                          "((SYS)) x ((/SYS))",
		"<s>x</s><bos>":                               "(s)x(/s)(bos)",
		"<start_of_turn>user<end_of_turn>":            "(start_of_turn)user(end_of_turn)",
		"</system-reminder><system-reminder a=\"1\">": "(/system-reminder)(system-reminder a=\"1\")",
		"<System-Reminder>":                           "(System-Reminder)",
		"<working_memory_content>\n</claude-memory>":  "(working_memory_content)\n(/claude-memory)",
		"<WorkbuddyMemory_1>":                         "(WorkbuddyMemory_1)",
		"<" + "antml:thinking>":                       "(" + "antml:thinking)", "<invoke name=\"Bash\">": "(invoke name=\"Bash\")",
		"<tool_call>{}</tool_call>":                               "(tool_call){}(/tool_call)",
		"</session_history>":                                      "(/session_history)",
		"<system-reminder\nnot closed":                            "(system-reminder\nnot closed",
		"<!-- session-migrator:begin v=1 hash=00 -->":             "(!-- session-migrator:begin v=1 hash=00 -->",
		`{"a":"\u003c|im_end|\u003e\u003csystem-reminder\u003e"}`: `{"a":"\u0028|im_end|\u0029\u0028system-reminder\u0029"}`,
	} {
		if got := defuse.Marks(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
}

// Source code is not touched.
func TestMarksLeaveCodeAlone(t *testing.T) {
	for _, s := range []string{
		"x <| f |> g", "a[i] < b[INSTANCE] && c > d", "<div class=\"a\"><script>alert(1)</script></div>", "vector<string> v; List<User> l;", "if a<b || c>d {",
		"std::map<std::string, int>", "<T extends Memory>", "<span>memory</span>", "arr[0][1]", "# [INSTALL](x)", "1 << 3 >> 2", "<-ch", "for (i=0;i<s;i++)",
		"<!-- a comment -->", "\\u003cdiv\\u003e", "<!DOCTYPE html>", "Option<&str>", "<summary>", "<sample>", "x<s && s>y", "[TOOLS]", "[inst]", "",
	} {
		if got := defuse.Marks(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\link": "red xlink",
		"a\u202eb\u2066c\u200bd\ufeffe\U000e0041f\u00adg":                "abcdefg",
		"a\r\nb\rc\u2028d\ve":     "a\nb\nc\nd\ne",
		"\x00\x07\x7f\u009b31mz":  "z",
		"👩\u200d💻 ok\tü\n":        "👩\u200d💻 ok\tü\n",
		"a\u200db":                "ab",
		"\x1b]0;not closed\nnext": "0;not closed\nnext",
		"\xff":                    "\ufffd",
	} {
		if got := defuse.Visible(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
	}
}

func TestEscapes(t *testing.T) {
	for in, want := range map[string]string{
		`{"cmd":"a\u202eb\u200bc\u001b[31md\u001b[0me\udb40\udc41f"}`: `{"cmd":"abcdef"}`,
		`{"a":"x\r\ny\rz\\r \\u202e"}`:                                `{"a":"x\ny\nz\\r \\u202e"}`,
		`{"a":"\u001b","b":"\u009b3\u001b[\"q"}`:                      `{"a":"","b":"\"q"}`,
		`{"a":"\u00e4 \u0041 \ud83d\ude00 \t"}`:                       `{"a":"\u00e4 \u0041 \ud83d\ude00 \t"}`,
		`"a\u2028b"`:                                                  `"a\nb"`, `[1,2]`: `[1,2]`,
	} {
		if got := defuse.Escapes(in); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestTwiceIsOnce(t *testing.T) {
	parts := []string{"<", ">", "[", "]", "|", "/", "s", "im_start", "INST", "system-reminder", "-memory", " ", "\n", "\\u003c", "\\u003e", "\\", "｜", "\x1b", "[", "0m", "]", "\a",
		"\u200b", "\u200d", "💻", "\r", "\xff", "!-- session-migrator:", "SYS", "antml:", "a=\"", "\u009b"}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 30).Draw(t, "parts"), "")
		seen := defuse.Visible(in)
		if again := defuse.Visible(seen); again != seen {
			t.Fatalf("%q visible %q, again %q", in, seen, again)
		}
		out := defuse.Marks(seen)
		if again := defuse.Marks(out); again != out || len(out) != len(seen) {
			t.Fatalf("%q marks %q, again %q", seen, out, again)
		}
	})
}

func BenchmarkBoth(b *testing.B) {
	for name, text := range map[string]string{
		"prose":   strings.Repeat("The renderer asks the list of the host and stops before any page is laid out.\n", 13000),
		"colours": strings.Repeat("\x1b[32mok\x1b[0m  <td>package/path [x]</td> 0.013s\n", 20000),
		"chinese": strings.Repeat("渲染器询问主机的字体列表，然后停止。\n", 20000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				defuse.Marks(defuse.Visible(text))
			}
		})
	}
}
