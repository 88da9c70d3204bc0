package search

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/session-migrator/session-migrator/pipeline/transcript"
)

// corpus makes what agents and people say: code, output, English and CJK, the
// same for the same seed. Words come as often as they do in real text: the n-th
// most frequent one n times as rarely as the first.
type corpus struct {
	rnd     *rand.Rand
	english []string
	names   []string
	paths   []string
	cjk     [3][]string // Chinese, Japanese, Korean
	recent  map[*string][]string
}

func newCorpus(seed uint64) *corpus {
	c := &corpus{rnd: rand.New(rand.NewPCG(seed, 1)), recent: map[*string][]string{}}
	syllables := strings.Fields("ta re con ing er ly de pre str em on in al tion a pro vis ent or mi ka lo su ver out set get run ex ter fi le ble co ma ni po se ti u wi ")
	for range 20000 {
		var b strings.Builder
		for range 1 + c.rnd.IntN(3) + c.rnd.IntN(2) {
			b.WriteString(syllables[c.rnd.IntN(len(syllables))])
		}
		c.english = append(c.english, b.String())
	}
	title := func(w string) string { return strings.ToUpper(w[:1]) + w[1:] }
	for i := range 30000 {
		a, b, d := c.word(c.english), c.word(c.english), c.word(c.english)
		c.names = append(c.names, [...]string{a + title(b), a + title(b) + title(d), title(a) + title(b), a + "_" + b, a + "_" + b + "_" + d,
			a + "-" + b, strings.ToUpper(a + "_" + b), a + "." + title(b), "HTTP" + title(a), a + fmt.Sprint(i%100)}[i%10])
	}
	for i := range 4000 {
		p := c.word(c.english) + "/" + c.word(c.english) + "/"
		if i%3 == 0 {
			p = "/home/" + c.word(c.english) + "/" + p
		}
		c.paths = append(c.paths, p+c.word(c.names)+[...]string{".go", ".ts", ".py", "_test.go", ".md"}[i%5])
	}
	han := make([]rune, 3000)
	for i := range han {
		han[i] = rune(0x4e00 + i*6)
	}
	for i := range c.cjk {
		for range 12000 {
			var w []rune
			for range 1 + min(c.rnd.IntN(4), c.rnd.IntN(4)) {
				switch {
				case i == 2:
					w = append(w, rune(0xac00+c.zipf(1500)*7))
				case i == 1 && len(c.cjk[1])%3 == 0:
					w = append(w, rune(0x30a1+c.zipf(86)))
				case i == 1 && len(c.cjk[1])%3 == 1:
					w = append(w, rune(0x3042+c.zipf(80)))
				default:
					w = append(w, han[c.zipf(len(han))])
				}
			}
			c.cjk[i] = append(c.cjk[i], string(w))
		}
	}
	return c
}

// zipf gives a number below n, small ones more often.
func (c *corpus) zipf(n int) int {
	return int(math.Pow(float64(n), c.rnd.Float64())) - 1
}

// word gives one of a list. Who speaks of something repeats its words: with this
// share of them a KB of western text has 95 different words, as sources of Go
// and their documentation have.
func (c *corpus) word(of []string) string {
	last := c.recent[&of[0]]
	if len(last) > 8 && c.rnd.IntN(100) < 45 {
		return last[len(last)-1-c.rnd.IntN(min(40, len(last)))]
	}
	w := of[c.zipf(len(of))]
	c.recent[&of[0]] = append(last, w)
	return w
}

// chunk makes about as many bytes as are asked for.
func (c *corpus) chunk(bytes int) transcript.Item {
	clear(c.recent)
	var b strings.Builder
	switch k := c.rnd.IntN(100); {
	case k < 12:
		return c.spread(&b, bytes)
	case k < 45:
		for b.Len() < bytes {
			c.sentence(&b)
		}
		return transcript.Item{Role: transcript.RoleAssistant, Text: b.String()}
	case k < 70:
		for b.Len() < bytes {
			c.code(&b)
		}
		if k%2 == 0 {
			return transcript.Item{Role: transcript.RoleToolCall, Name: "shell", Args: fmt.Sprintf(`{"command":["bash","-lc",%q]}`, b.String())}
		}
		return transcript.Item{Role: transcript.RoleAssistant, Text: b.String()}
	}
	for b.Len() < bytes {
		c.output(&b)
	}
	return transcript.Item{Role: transcript.RoleToolResult, Text: b.String()}
}

// spread is prose in one of the languages without spaces.
func (c *corpus) spread(b *strings.Builder, bytes int) transcript.Item {
	of := c.cjk[c.rnd.IntN(3)]
	for b.Len() < bytes {
		switch c.rnd.IntN(12) {
		case 0:
			b.WriteString("，")
		case 1:
			b.WriteString("。\n")
		case 2:
			b.WriteString(" " + c.word(c.names) + " ")
		default:
			b.WriteString(c.word(of))
			if of[0] == c.cjk[2][0] && c.rnd.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
	}
	return transcript.Item{Role: transcript.RoleUser, Text: b.String()}
}

// last gives the word that was given last, now and then another one.
func (c *corpus) last(of []string) string {
	if last := c.recent[&of[0]]; len(last) > 0 && c.rnd.IntN(4) > 0 {
		return last[len(last)-1]
	}
	return c.word(of)
}

func (c *corpus) sentence(b *strings.Builder) {
	for i := range 6 + c.rnd.IntN(14) {
		w := c.word(c.english)
		switch {
		case i == 0:
			w = strings.ToUpper(w[:1]) + w[1:]
		case c.rnd.IntN(12) == 0:
			w = "`" + c.word(c.names) + "`"
		case c.rnd.IntN(25) == 0:
			w = c.word(c.paths)
		}
		b.WriteString(w)
		b.WriteByte(' ')
	}
	b.WriteString("done.\n")
}

func (c *corpus) code(b *strings.Builder) {
	b.WriteString(strings.Repeat("\t", c.rnd.IntN(4)))
	switch c.rnd.IntN(4) {
	case 0:
		fmt.Fprintf(b, "if err := %s(%s, %d); err != nil {\n", c.word(c.names), c.word(c.names), c.rnd.IntN(500))
	case 1:
		fmt.Fprintf(b, "%s := %s.%s(%q)\n", c.word(c.english), c.word(c.english), c.word(c.names), c.word(c.english))
	case 2:
		fmt.Fprintf(b, "return %s, fmt.Errorf(\"%s %s: %%w\", err) // %s %s %s\n", c.word(c.names), c.word(c.english), c.word(c.english), c.word(c.english), c.word(c.english), c.word(c.english))
	default:
		fmt.Fprintf(b, "func (x *%s) %s(ctx context.Context, %s string) error {\n", c.word(c.names), c.word(c.names), c.word(c.english))
	}
}

func (c *corpus) output(b *strings.Builder) {
	path := c.last(c.paths)
	switch c.rnd.IntN(8) {
	case 0:
		fmt.Fprintf(b, "2026-09-%02dT%02d:%02d:%02dZ INFO %s %s=%d\n", 1+c.rnd.IntN(28), c.rnd.IntN(24), c.rnd.IntN(60), c.rnd.IntN(60), c.word(c.english), c.word(c.names), c.rnd.IntN(10000))
	case 1:
		fmt.Fprintf(b, "%07x %s %s %s\n", c.rnd.Uint32()>>4, c.word(c.english), c.word(c.english), c.word(c.english))
	case 2:
		fmt.Fprintf(b, "ok  \t%s\t%d.%03ds\n", path, c.rnd.IntN(9), c.rnd.IntN(1000))
	default:
		fmt.Fprintf(b, "%s:%d:%d: %s %s %s %s\n", path, c.rnd.IntN(900), c.rnd.IntN(80), c.word(c.names), c.word(c.english), c.word(c.english), c.word(c.names))
	}
}
