package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// everyCommand gives the whole command line, the root first.
func everyCommand() []*cobra.Command {
	var all []*cobra.Command
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		c.InitDefaultHelpFlag() // otherwise made when it is run
		all = append(all, c)
		for _, sub := range c.Commands() {
			add(sub)
		}
	}
	add(newRootCommand(&app{out: io.Discard, err: io.Discard, env: func(string) string { return "" }, now: time.Now}))
	return all
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range everyCommand() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") && c.Name() != "completion" {
			t.Errorf("%s: short text %q is missing, or a sentence", c.CommandPath(), c.Short)
		}
		if !strings.Contains(c.Example, c.CommandPath()) && len(c.Commands()) == 0 || c.Example == "" {
			t.Errorf("%s: no example of it in %q", c.CommandPath(), c.Example)
		}
		var out bytes.Buffer
		c.SetOut(&out)
		if err := c.Help(); err != nil {
			t.Errorf("%s: help: %v", c.CommandPath(), err)
		}
		for _, part := range []string{"Usage:", "Examples:", "--help"} {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: its help has no %q", c.CommandPath(), part)
			}
		}
		if strings.Contains(out.String(), "<no value>") || strings.Contains(out.String(), "%!") {
			t.Errorf("%s: its help was not filled in:\n%s", c.CommandPath(), out.String())
		}
		for _, f := range []*pflag.FlagSet{c.LocalFlags(), c.PersistentFlags()} {
			f.VisitAll(func(f *pflag.Flag) {
				if f.Usage == "" {
					t.Errorf("%s: --%s says nothing of itself", c.CommandPath(), f.Name)
				}
			})
		}
	}
}

// With MAN_DIR the manual pages are written there: a release does that, with
// its version as MAN_VERSION and its day as MAN_DATE.
func TestManPages(t *testing.T) {
	dir := os.Getenv("MAN_DIR")
	for _, c := range everyCommand() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		page := manPage(c, os.Getenv("MAN_VERSION"), os.Getenv("MAN_DATE"))
		for i, line := range strings.Split(page, "\n") {
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !manRequest.MatchString(line) {
				t.Errorf("%s: line %d would be taken for a request: %s", c.CommandPath(), i+1, line)
			}
		}
		for _, section := range []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES"} {
			if !strings.Contains(page, "\n.SH "+section+"\n") {
				t.Errorf("%s: its page has no %s", c.CommandPath(), section)
			}
		}
		if dir == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, manName(c)+".1"), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	manRequest = regexp.MustCompile(`^\.(TH|SH|PP|TP|nf|fi|RS|RE|BR)( |$)`)
	manColumns = regexp.MustCompile(`(?m)^\s|\S  +\S`) // lines that are set as they are
)

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a command's help in the form that man shows.
func manPage(c *cobra.Command, version, date string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line(`.TH "%s" 1 "%s" "session\-migrator %s" "session\-migrator"`, strings.ToUpper(roff(manName(c))), date, roff(version))
	line(".SH NAME")
	line(`%s \- %s`, roff(manName(c)), roff(strings.ToLower(c.Short[:1])+c.Short[1:]))
	line(".SH SYNOPSIS")
	line("%s", roff(c.UseLine()))
	if subs := c.Commands(); len(subs) > 0 {
		line(".PP\n%s", roff(c.CommandPath()+" COMMAND [flags]"))
	}
	line(".SH DESCRIPTION")
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			line(".PP")
		}
		if manColumns.MatchString(p) {
			p = ".nf\n" + roff(p) + "\n.fi"
		} else {
			p = roff(p)
		}
		line("%s", p)
	}
	if subs := c.Commands(); len(subs) > 0 {
		line(".SH COMMANDS")
		for _, s := range subs {
			if !s.Hidden && s.Name() != "help" {
				line(".TP\n\\fB%s\\fR(1)\n%s", roff(manName(s)), roff(s.Short))
			}
		}
	}
	line(".SH OPTIONS")
	manFlags(&b, c.NonInheritedFlags())
	if c.HasInheritedFlags() {
		line(".SH GLOBAL OPTIONS")
		manFlags(&b, c.InheritedFlags())
	}
	line(".SH EXAMPLES\n.nf\n%s\n.fi", roff(strings.TrimRight(c.Example, "\n")))
	if !c.HasParent() {
		line(".SH EXIT STATUS\n.nf\n%s\n.fi", roff(manExits))
		return b.String()
	}
	line(".SH SEE ALSO\n\\fB%s\\fR(1)", roff(manName(c.Parent())))
	return b.String()
}

const manExits = `0    done
1    failed
2    wrong usage
3    partly done; what was left out is listed
10   no cache yet
11   locked by another process
12   not found
130  interrupted`

func manFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
			usage += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR %s\n%s\n", roff(name), roff(kind), roff(usage))
	})
}

// roff keeps what stands in a text from being taken for a request, in ASCII
// alone: not every man reads anything else.
func roff(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		for _, r := range line {
			switch {
			case r == '\\':
				b.WriteString(`\e`)
			case r == '-':
				b.WriteString(`\-`)
			case r == '\'':
				b.WriteString(`\(aq`)
			case r == '"':
				b.WriteString(`\(dq`)
			case r == '`':
				b.WriteString("\\`")
			case r > 0x7e:
				fmt.Fprintf(&b, `\[u%04X]`, r)
			default:
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}
