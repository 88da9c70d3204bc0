package edit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"

	"github.com/session-migrator/session-migrator/install/edit"
)

var (
	entry  = edit.Object{{Key: "command", Value: `C:\Program Files\sm.exe`}, {Key: "args", Value: []string{"mcp", "--home", "/ü b"}}}
	jsonAt = []string{"mcpServers", "session-migrator"}
	tomlAt = []string{"mcp_servers", "session-migrator"}
)

// drawn are documents in all the ways people write them.
type drawn struct {
	*rapid.T
	lax     bool
	nl      string
	unit    string
	compact bool
}

func (d drawn) one(name string, of ...string) string { return rapid.SampledFrom(of).Draw(d.T, name) }
func (d drawn) yes(name string) bool                 { return rapid.Bool().Draw(d.T, name) }

func (d drawn) gap() string {
	if !d.lax {
		return ""
	}
	return d.one("gap", "", "", "", "", " // note } ] , \""+d.nl, " /* \" } */ ", d.nl+"// [mcp_servers]"+d.nl, " //"+d.nl)
}

func (d drawn) json(depth int, at string) string {
	kind := rapid.IntRange(0, 7).Draw(d.T, "kind")
	if depth == 0 {
		kind = rapid.IntRange(0, 4).Draw(d.T, "plain")
	}
	switch kind {
	case 0:
		return d.one("number", "0", "-1.5e3", "12345678901234567890", "1.0")
	case 1:
		return d.one("word", "true", "false", "null")
	case 2, 3, 4:
		return d.one("text", `""`, `"a"`, `"\u00e9\"\\"`, `"//no"`, `"日本 /* */"`, `"},]"`)
	case 5:
		return d.list(depth, at)
	}
	return d.object(depth, at, nil)
}

func (d drawn) list(depth int, at string) string {
	var all []string
	for range rapid.IntRange(0, 3).Draw(d.T, "n") {
		all = append(all, d.gap()+d.json(depth-1, at+d.unit)+d.gap())
	}
	end := ""
	if d.lax && len(all) > 0 && d.yes("trailing") {
		end = ","
	}
	return "[" + strings.Join(all, ",") + end + "]"
}

func (d drawn) object(depth int, at string, must [][2]string) string {
	members := must
	for i := range rapid.IntRange(0, 3).Draw(d.T, "n") {
		members = append(members, [2]string{fmt.Sprintf("%q", d.one("key", "a", "b.c", "é", "mcp_servers")+fmt.Sprint(i)), d.json(depth-1, at+d.unit)})
	}
	if len(members) == 0 {
		return d.one("empty", "{}", "{ }", "{"+d.nl+at+"}", "{"+d.gap()+"}")
	}
	end := ""
	if d.lax && d.yes("trailing") {
		end = ","
	}
	lines := !d.compact && rapid.IntRange(0, 4).Draw(d.T, "lines") > 0
	var b strings.Builder
	b.WriteString("{")
	for i, m := range members {
		if lines {
			b.WriteString(d.gap() + d.nl + at + d.unit)
		} else {
			b.WriteString(d.one("pad", "", " "))
		}
		b.WriteString(m[0] + d.gap() + d.one("colon", ":", ": ", " : ") + d.gap() + m[1] + d.gap())
		if i < len(members)-1 {
			b.WriteString("," + d.gap())
		}
	}
	b.WriteString(end + d.gap())
	if lines {
		b.WriteString(d.nl + at)
	}
	return b.String() + "}"
}

// document gives a file, and whether the table of servers is in it.
func (d drawn) document() (text string, have bool) {
	var must [][2]string
	if have = d.yes("have"); have {
		var servers [][2]string
		if d.yes("others") {
			servers = append(servers, [2]string{`"other"`, d.json(2, d.unit)})
		}
		must = append(must, [2]string{`"mcpServers"`, d.object(2, d.unit, servers)})
	}
	text = d.gap() + d.object(3, "", must) + d.gap() + d.one("end", "", d.nl, d.nl+d.nl)
	return d.one("mark", "", "\xef\xbb\xbf") + text, have
}

// blanked takes out what is no JSON, in another way than the code that is tested.
func blanked(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var out []byte
	for i := 0; i < len(text); {
		switch {
		case text[i] == '"':
			n := 1
			for text[i+n] != '"' {
				if text[i+n] == '\\' {
					n++
				}
				n++
			}
			out = append(out, text[i:i+n+1]...)
			i += n + 1
		case bytes.HasPrefix(text[i:], []byte("//")):
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case bytes.HasPrefix(text[i:], []byte("/*")):
			i += 2
			for !bytes.HasPrefix(text[i:], []byte("*/")) {
				i++
			}
			i += 2
		case strings.ContainsRune(" \t\r\n", rune(text[i])):
			i++
		default:
			if text[i] == '}' || text[i] == ']' {
				out = bytes.TrimSuffix(out, []byte(","))
			}
			out = append(out, text[i])
			i++
		}
	}
	return out
}

func parsedJSON(t *rapid.T, text []byte) map[string]any {
	out := map[string]any{}
	if len(blanked(text)) == 0 {
		return out
	}
	d := json.NewDecoder(bytes.NewReader(blanked(text)))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func parsedTOML(t *rapid.T, text []byte) map[string]any {
	out := map[string]any{}
	if err := toml.Unmarshal(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), &out); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// subsequence tells whether the bytes of a are those of b with some more put in.
func subsequence(a, b []byte) bool {
	for _, c := range b {
		if len(a) > 0 && a[0] == c {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// holds tests what is promised of every change.
func holds(t *rapid.T, f edit.File, path []string, text []byte, had bool, parsed func(*rapid.T, []byte) map[string]any) {
	before := parsed(t, text)
	out, err := f.Set(text, path, entry)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	after := parsed(t, out)
	servers, _ := after[path[0]].(map[string]any)
	want := map[string]any{"command": entry[0].Value, "args": []any{"mcp", "--home", "/ü b"}}
	if !reflect.DeepEqual(servers[path[1]], want) {
		t.Fatalf("the entry is %v\n%s\n---\n%s", servers[path[1]], text, out)
	}
	kept := bytes.TrimSpace(text)
	if !had { // an empty table is written anew
		kept = bytes.Join(bytes.Fields(text), nil)
	}
	if !subsequence(kept, out) {
		t.Fatalf("something is lost:\n%s\n---\n%s", text, out)
	}
	if again, err := f.Set(out, path, entry); err != nil || !bytes.Equal(again, out) {
		t.Fatalf("set twice: %v\n%s\n---\n%s", err, out, again)
	}
	gone, err := f.Remove(out, path)
	if err != nil {
		t.Fatalf("remove: %v\n%s", err, out)
	}
	if had && !bytes.Equal(gone, text) {
		t.Fatalf("set and removed:\n%q\n---\n%q\n---\n%q", text, out, gone)
	}
	left := parsed(t, gone)
	if m, ok := left[path[0]].(map[string]any); ok && len(m) == 0 {
		delete(left, path[0])
	}
	if m, ok := before[path[0]].(map[string]any); ok && len(m) == 0 {
		delete(before, path[0])
	}
	if !reflect.DeepEqual(left, before) {
		t.Fatalf("other keys changed:\n%s\n---\n%s", text, gone)
	}
	renewed, err := f.Set(out, append(path[:2:2], "command"), "/new/place")
	if err != nil {
		t.Fatalf("renew: %v\n%s", err, out)
	}
	servers, _ = parsed(t, renewed)[path[0]].(map[string]any)
	want["command"] = "/new/place"
	if !reflect.DeepEqual(servers[path[1]], want) {
		t.Fatalf("renewed is %v\n%s", servers[path[1]], renewed)
	}
}

func TestJSONKeepsEveryOtherByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{T: rt, nl: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "nl"), unit: rapid.SampledFrom([]string{"  ", "    ", "\t", ""}).Draw(rt, "unit")}
		d.lax, d.compact = d.yes("lax"), d.yes("compact")
		f := edit.File{Name: "f", Format: edit.JSON}
		if d.lax {
			f.Format = edit.JSONC
		}
		text, have := d.document()
		servers, _ := parsedJSON(rt, []byte(text))["mcpServers"].(map[string]any)
		holds(rt, f, jsonAt, []byte(text), have && len(servers) > 0, parsedJSON)
	})
}

// tomlDocument draws tables in every way that TOML has for them.
func (d drawn) tomlDocument() (text string) {
	note := func() string { return d.one("note", "", "", " # [mcp_servers] x = \"", "\t#") }
	value := func() string {
		return d.one("value", `1`, `"a # b"`, `'''`+d.nl+`[mcp_servers]`+d.nl+`session-migrator = 1'''`, `"""`+d.nl+`\"""[mcp_servers.session-migrator]"""`, `1979-05-27T07:32:00Z`, `nan`, `'C:\x'`,
			`[1, 2, # ]`+d.nl+` 3,`+d.nl+`]`, `{ x = { y = [ { z = 1 } ] } }`, `{}`, `[["a", "]"], []]`, `07:32:00`, `""`, `''`, `""""quoted""""`)
	}
	var b strings.Builder
	b.WriteString(d.one("mark", "", "\xef\xbb\xbf"))
	n := 0
	plainLines := func() {
		for range rapid.IntRange(0, 3).Draw(d.T, "keys") {
			n++
			if d.yes("blank") {
				b.WriteString(d.one("empty", d.nl, "  # only a note"+d.nl, "\t"+d.nl))
			}
			fmt.Fprintf(&b, "%s%s%d%s%s%s%s%s", d.one("in", "", "  ", "\t"), d.one("name", "k", "model_"), n, d.one("dot", "", ".x", ` . "y z"`), d.one("eq", "=", " = "), value(), note(), d.nl)
		}
	}
	plainLines()
	form := d.one("form", "none", "header", "inline", "dotted", "sub", "both")
	switch form {
	case "inline":
		b.WriteString("mcp_servers" + d.one("eq", "=", " = ") + d.one("table", "{}", "{ }", `{ other = { command = "x" } }`, `{other.command="x"}`, `{ other = { command = "x", env = { A = "}" } }, more = {} }`) + note() + d.nl)
	case "dotted":
		b.WriteString(`mcp_servers.other.command = "x"` + note() + d.nl)
	}
	table := func(h string) {
		b.WriteString(d.one("in", "", "  ") + h + note() + d.nl)
		plainLines()
	}
	table("[projects.\"/a b\"]")
	if form == "header" || form == "both" {
		table(d.one("head", "[mcp_servers]", "[ mcp_servers ]", `["mcp_servers"]`))
		if d.yes("in") {
			b.WriteString(d.one("other", `other = { command = "x" }`, `other.command = "x"`) + d.nl)
		}
	}
	if form == "sub" || form == "both" {
		table("[mcp_servers.second]")
		table("[mcp_servers.second.env]")
	}
	table("[[list]]")
	table("[[list]]")
	table("[list.below]")
	text = b.String()
	if d.yes("open") {
		text = strings.TrimRight(text, "\r\n")
	}
	return text
}

func TestTOMLKeepsEveryOtherByte(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{T: rt, nl: rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "nl")}
		text := d.tomlDocument()
		servers, is := parsedTOML(rt, []byte(text))["mcp_servers"].(map[string]any)
		inlineEmpty := is && len(servers) == 0 && strings.Contains(text, "{")
		// NaN is never equal to itself: the comparison of trees would fail for it.
		holds(rt, edit.File{Name: "f", Format: edit.TOML}, tomlAt, []byte(strings.ReplaceAll(text, "nan", "inf")), !inlineEmpty, parsedTOML)
	})
}
