package corpus

import (
	"encoding/json"
	"fmt"
	"strings"
)

// step writes what one step of an agent has: what it says, source, a patch, or
// what a tool put out; n is about how much room there is.
func (w *writer) step(n int) {
	switch w.IntN(20) {
	case 0, 1:
		w.block()
	case 2, 3, 4:
		w.goFunction()
	case 5:
		w.pythonFunction()
	case 6:
		w.typescript()
	case 7, 8:
		w.patch()
	case 9:
		w.diff()
	case 10, 11:
		w.inJSON(n)
	case 12:
		w.list()
	case 13:
		w.grep()
	case 14:
		w.testOutput()
	case 15:
		w.trace()
	case 16:
		w.numbered()
	case 17:
		w.gitLog()
	case 18:
		w.record()
	case 19:
		w.hexdump()
	}
}

// draw returns what write would write, which is not written.
func (w *writer) draw(write func()) string {
	at := w.Len()
	write()
	text := string(w.Bytes()[at:])
	w.Truncate(at)
	return text
}

func (w *writer) expression() string {
	switch w.IntN(9) {
	case 0:
		return fmt.Sprint(w.IntN(300))
	case 1:
		return fmt.Sprintf("len(%s.%s)", w.word(nouns), w.name())
	case 2:
		return fmt.Sprintf("%s.%s(%s, %s)", w.word(nouns), title(w.name()), w.word(nouns), w.name())
	case 3:
		return fmt.Sprintf("%s[%s+%d]", w.word(nouns), w.letters("ijkn", 1), 1+w.IntN(8))
	case 4:
		return fmt.Sprintf("%q", w.word(verbs)+" "+w.word(nouns)+": %s")
	case 5:
		return "&" + w.word(nouns) + "." + title(w.name()) + "{}"
	}
	return w.name()
}

func (w *writer) goStatement(indent string) {
	switch w.IntN(9) {
	case 0:
		w.put(indent, "// ")
		w.sentence()
		w.put("\n")
	case 1, 2:
		w.put(indent, "if err := ", w.expression(), "; err != nil {\n", indent, "\treturn nil, fmt.Errorf(\"", w.word(verbs), " ", w.word(nouns), " %s: %w\", ", w.name(), ", err)\n", indent, "}\n")
	case 3:
		w.put(indent, "for i, ", w.word(nouns), " := range ", w.expression(), " {\n")
		if len(indent) < 4 {
			w.goStatement(indent + "\t")
		}
		w.put(indent, "}\n")
	case 4:
		w.put(indent, "switch ", w.name(), " {\n", indent, "case ", title(w.name()), ", ", title(w.name()), ":\n", indent, "\treturn ", w.expression(), "\n", indent, "}\n")
	case 5:
		w.put(indent, w.name(), ".", title(w.name()), " = ", w.expression(), "\n")
	default:
		w.put(indent, w.name(), " ", w.any(":=", ":=", "+=", "="), " ", w.expression(), "\n")
	}
}

func (w *writer) goFunction() {
	name := title(w.name())
	w.put("// ", name, " ", w.word(verbs), "s ")
	w.phrase()
	w.put(".\nfunc (", w.letters("abcdrstw", 1), " *", w.name(), ") ", name, "(ctx context.Context, ", w.word(nouns), " ", w.any("string", "int", "[]byte", "*"+title(w.name())), ") (", w.any("int", "string", "bool"), ", error) {\n")
	for range 1 + w.IntN(9) {
		w.goStatement("\t")
	}
	w.put("\treturn ", w.expression(), ", nil\n}\n\n")
}

func (w *writer) pythonFunction() {
	w.put("def ", w.snake(), "(self, ", w.word(nouns), ": str, ", w.snake(), "=None) -> dict:\n    \"\"\"")
	w.sentence()
	w.put("\"\"\"\n")
	for range 1 + w.IntN(8) {
		switch w.IntN(4) {
		case 0:
			w.put("    if ", w.snake(), " is not None and ", w.expression(), ":\n        raise ValueError(f\"", w.word(verbs), " {", w.word(nouns), "!r}\")\n")
		case 1:
			w.put("    for ", w.word(nouns), " in self.", w.snake(), ":\n        ", w.snake(), ".append(", w.expression(), ")\n")
		default:
			w.put("    self.", w.snake(), " = ", w.snake(), "[\"", w.snake(), "\"]\n")
		}
	}
	w.put("    return {\"", w.snake(), "\": ", w.word(nouns), "}\n\n\n")
}

func (w *writer) typescript() {
	w.put("import { ", w.name(), ", ", title(w.name()), " } from \"@", w.word(nouns), "/", w.word(nouns), "\";\n\nexport async function ", w.name(), "(", w.word(nouns), ": ", title(w.name()), "): Promise<void> {\n")
	for range 1 + w.IntN(7) {
		w.put("  const ", w.name(), " = await this.", w.name(), ".", w.name(), "({ ", w.name(), ", ", w.name(), ": ", w.expression(), " });\n")
	}
	w.put("  expect(", w.name(), ").toEqual(", w.expression(), ");\n}\n\n")
}

// hunk writes changed lines between lines that are not.
func (w *writer) hunk() {
	for range 2 + w.IntN(6) {
		code := w.draw(func() { w.goStatement("\t") })
		for line := range strings.Lines(code) {
			w.put(w.any(" ", " ", "-", "+", "+"), line)
		}
	}
}

func (w *writer) patch() {
	w.put("*** Begin Patch\n")
	for range 1 + w.IntN(2) {
		w.put("*** Update File: ", w.path(), "\n@@ func ", title(w.name()), "(\n")
		w.hunk()
	}
	w.put("*** End Patch\n")
}

func (w *writer) diff() {
	path := w.path()
	w.putf("diff --git a/%s b/%s\nindex %s..%s 100644\n--- a/%s\n+++ b/%s\n", path, path, w.hex(8), w.hex(8), path, path)
	w.putf("@@ -%d,%d +%d,%d @@ func %s(\n", w.IntN(900), 3+w.IntN(30), w.IntN(900), 3+w.IntN(30), title(w.name()))
	w.hunk()
}

// inJSON writes the same as the other steps in the string of a JSON object.
func (w *writer) inJSON(n int) {
	text := w.draw(func() {
		for at := w.Len(); ; {
			w.step(0)
			if made := w.Len() - at; made > n/2 || made > 4000 {
				return
			}
		}
	})
	raw, err := json.Marshal(map[string]any{
		"output":   text,
		"metadata": map[string]any{"exit_code": w.IntN(3), "duration_seconds": float64(w.IntN(90)) / 10},
	})
	if err != nil {
		panic("bug: " + err.Error()) // strings and numbers
	}
	_, _ = w.Write(raw) // a buffer takes all
	w.put("\n")
}

func (w *writer) list() {
	w.putf("./%s:\ntotal %d\n", w.path(), w.IntN(900))
	for range 3 + w.IntN(20) {
		w.putf("%s %2d %-8s %-8s %8d %s %2d %02d:%02d %s\n", w.any("-rw-r--r--", "-rw-r--r--", "drwxr-xr-x", "-rwxr-xr-x"), 1+w.IntN(9), w.word(nouns), "users",
			w.IntN(1<<uint(8+w.IntN(16))), w.any("Jan", "Feb", "Mar", "Apr", "Jun", "Oct"), 1+w.IntN(28), w.IntN(24), w.IntN(60), w.snake()+w.any(".go", ".md", "", ".png"))
	}
	w.put("\n")
}

func (w *writer) grep() {
	for range 2 + w.IntN(12) {
		w.putf("%s:%d:", w.path(), 1+w.IntN(1200))
		line, _, _ := strings.Cut(w.draw(func() { w.goStatement("\t") }), "\n")
		w.put(line, "\n")
	}
}

func (w *writer) testOutput() {
	for range 2 + w.IntN(8) {
		name := title(w.word(nouns)) + title(w.name())
		w.putf("=== RUN   Test%s\n--- %s: Test%s (%d.%02ds)\n", name, w.any("PASS", "PASS", "FAIL"), name, w.IntN(3), w.IntN(100))
		if w.one(3) {
			w.putf("    %s_test.go:%d: %s(%q) = %d, want %d\n", w.snake(), w.IntN(400), title(w.name()), w.word(nouns), w.IntN(99), w.IntN(99))
		}
	}
	w.putf("ok  \tgithub.com/%s/%s/%s\t%d.%03ds\n", w.word(nouns), w.word(nouns), w.word(nouns), w.IntN(20), w.IntN(1000))
}

func (w *writer) trace() {
	w.putf("panic: runtime error: index out of range [%d] with length %d\n\ngoroutine %d [running]:\n", w.IntN(90), w.IntN(90), w.IntN(400))
	for range 2 + w.IntN(9) {
		w.putf("%s/%s.(*%s).%s(0x%s, {0x%s, 0x%x})\n\t/home/%s/src/%s:%d +0x%x\n", w.word(nouns), w.word(nouns), title(w.name()), w.name(), w.hex(10), w.hex(10), w.IntN(99), w.word(nouns), w.path(), w.IntN(900), w.IntN(4096))
	}
}

// numbered writes source as "cat -n" does.
func (w *writer) numbered() {
	at := 1 + w.IntN(700)
	for line := range strings.Lines(w.draw(func() { w.goFunction() })) {
		w.putf("%6d\t", at)
		w.put(line)
		at++
	}
}

func (w *writer) gitLog() {
	for range 1 + w.IntN(4) {
		w.putf("commit %s\nAuthor: %s <%s@%s.example>\nDate:   %s %d 1%d:%02d:%02d 2026 +0%d00\n\n    %s: %s the %s\n\n    ", w.hex(40), w.word(people), w.word(nouns), w.word(nouns),
			w.any("Mon Mar", "Tue Apr", "Fri Oct"), 1+w.IntN(28), w.IntN(9), w.IntN(60), w.IntN(60), w.IntN(9), w.word(nouns), w.word(verbs), w.noun())
		w.sentence()
		w.put("\n\n")
	}
}

// record writes a line of a log in JSON.
func (w *writer) record() {
	for range 1 + w.IntN(5) {
		w.putf(`{"time":"2026-0%d-1%dT%02d:%02d:%02d.%03dZ","level":%q,"%s":"%s-%s-4%s-a%s-%s","%s":%d,"%s":{"%s":%t,"%s":null,"path":"/%s"}}`+"\n", 1+w.IntN(9), w.IntN(10), w.IntN(24), w.IntN(60), w.IntN(60), w.IntN(1000), w.any("INFO", "WARN", "ERROR"),
			w.snake(), w.hex(8), w.hex(4), w.hex(3), w.hex(3), w.hex(12), w.snake(), w.IntN(1e6), w.word(nouns), w.name(), w.one(2), w.snake(), w.path())
	}
}

func (w *writer) hexdump() {
	for i := range 1 + w.IntN(6) {
		w.putf("%08x ", i*16)
		for range 16 {
			w.putf(" %02x", w.IntN(256))
		}
		w.put("  |", w.letters("abcdefgh.....XYZ0129", 16), "|\n")
	}
}
