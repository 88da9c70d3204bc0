package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
)

type tokensFlags struct{ model, encoding string }

func newTokensCommand(a *app) *cobra.Command {
	var f tokensFlags
	cmd := &cobra.Command{
		Use:   "tokens [FILE…]",
		Short: "Count tokens of files, or of stdin",
		Long: `Counts the tokens of each file, or of stdin without files or for "-". With
--model the model's own encoding is used where it is published; else the count
of o200k_base is converted by a measured ratio: "exact" is false, and "count" has
the likeliest number and its bounds. Files are read side by side and as streams,
so they may be of any size.

Exit codes: 0 counted, 2 wrong usage, 3 some files could not be read, 1 none could.`,
		Example: "  session-migrator tokens README.md --model gpt-4o\n  git diff | session-migrator tokens",
		RunE: func(cmd *cobra.Command, files []string) error {
			if err := named(cmd, "model"); err != nil {
				return err
			}
			return runTokens(cmd.Context(), a, files, f)
		},
	}
	cmd.Flags().StringVarP(&f.model, "model", "m", "", "count as this model does")
	cmd.Flags().StringVarP(&f.encoding, "encoding", "e", "", "o200k_base (default), cl100k_base, p50k_base, r50k_base or an imported one")
	completes(cmd, "model", a.completeModels)
	choice(cmd, "encoding", "o200k_base", "cl100k_base", "p50k_base", "r50k_base")
	cmd.AddCommand(newTokensImportCommand(a), newTokensCalibrateCommand(a))
	return cmd
}

type tokensJSON struct {
	Schema int         `json:"schema"`
	Counts []countJSON `json:"counts"`
	Failed []failJSON  `json:"failed,omitempty"`
}

type countJSON struct {
	File     string `json:"file"`
	Encoding string `json:"encoding"`
	Exact    bool   `json:"exact"` // the encoding is the model's own
	Tokens   int64  `json:"tokens"`
	Bytes    int64  `json:"bytes"`
	// UpperBound is what the model may count at most, where exact is false.
	UpperBound int64 `json:"upper_bound,omitempty"`
	// Count is in the model's own tokens, with bounds where it is estimated.
	Count tokens.Result `json:"count"`
}

type failJSON struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

// countWay is what a model or encoding means for counting.
type countWay struct {
	encoding string
	exact    bool
	ratio    tokens.Ratio
	source   string // whose the ratio is; empty: the program's
	counter  func() (*tokens.Counter, error)
}

// countingWith counts with a vocabulary of the program.
func countingWith(e tokens.Encoding, exact bool, r tokens.Ratio) countWay {
	return countWay{e.String(), exact, r, "", func() (*tokens.Counter, error) { return tokens.New(e) }}
}

// imported counts with the vocabulary that the user imported for the model, or
// under that name.
func imported(shelf *vocabs.Shelf, e vocabs.Entry) countWay {
	return countWay{e.Name, true, tokens.One(), "", func() (*tokens.Counter, error) { return shelf.Counter(e.Name) }}
}

func (f tokensFlags) counting(a *app) (countWay, error) {
	shelf, err := a.vocabularies()
	if err != nil {
		return countWay{}, err
	}
	switch {
	case f.encoding != "" && f.model != "":
		return countWay{}, usagef("--model and --encoding exclude each other")
	case f.encoding != "":
		for _, e := range shelf.Entries() {
			if e.Name == f.encoding {
				return imported(shelf, e), nil
			}
		}
		e, err := tokens.ParseEncoding(f.encoding)
		if err != nil {
			return countWay{}, usageError{err}
		}
		return countingWith(e, true, tokens.One()), nil
	case f.model != "":
		if e, ok := shelf.For(capacity.Default().Canonical(f.model)); ok {
			return imported(shelf, e), nil
		}
		m, err := capacity.Default().Lookup(f.model)
		if err != nil {
			a.warn("nothing is known of %s: counted with %s", f.model, m.Encoding)
		}
		w := countingWith(m.Encoding, m.CountExact, m.Ratio())
		if e, ok := a.calibrated(m); ok {
			w.ratio, w.source = e.Ratio(), e.Source()
		}
		return w, nil
	}
	return countingWith(tokens.O200kBase, true, tokens.One()), nil
}

func runTokens(ctx context.Context, a *app, files []string, f tokensFlags) error {
	c, err := f.counting(a)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	counts := make([]countJSON, len(files))
	errs := make([]error, len(files))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, file := range files {
		g.Go(func() error {
			if ctx.Err() == nil {
				counts[i], errs[i] = c.count(a, file)
			}
			return nil // each file's error is its own
		})
	}
	_ = g.Wait() // gives no error
	if err := ctx.Err(); err != nil {
		return err
	}
	out := tokensJSON{Schema: 1, Counts: []countJSON{}}
	for i, err := range errs {
		if err != nil {
			out.Failed = append(out.Failed, failJSON{files[i], err.Error()})
			continue
		}
		out.Counts = append(out.Counts, counts[i])
	}
	if len(out.Counts) == 0 {
		return hinted(errors.Join(errs...), "give files that exist and can be read")
	}
	if a.flags.json {
		err = a.printJSON(out)
	} else {
		err = printCounts(a, out.Counts)
	}
	if err == nil && len(out.Failed) > 0 {
		err = partlyError{errors.Join(errs...).Error()}
	}
	return err
}

func (c countWay) count(a *app, file string) (countJSON, error) {
	in := a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return countJSON{}, fmt.Errorf("count tokens: %w", err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	counter, err := c.counter()
	if err != nil {
		return countJSON{}, err
	}
	n, size, err := counter.CountReader(in)
	if err != nil {
		return countJSON{}, fmt.Errorf("count tokens of %s: %w", file, err)
	}
	j := countJSON{File: file, Encoding: c.encoding, Exact: c.exact, Tokens: n, Bytes: size}
	j.Count = c.ratio.Apply(n, c.encoding, c.exact)
	if j.Count.Method != tokens.Exact {
		j.UpperBound, j.Count.Source = j.Count.Hi, c.source
	}
	return j, nil
}

func printCounts(a *app, counts []countJSON) error {
	estimated := counts[0].Count.Method != tokens.Exact // of all: they have one model
	if len(counts) == 1 && !estimated {
		_, err := fmt.Fprintln(a.out, counts[0].Tokens)
		return err
	}
	t := table{head: []string{"TOKENS", "BYTES", "ENCODING", "FILE"}, right: []bool{true, true}}
	if estimated {
		t = table{head: []string{"ABOUT", "AT LEAST", "AT MOST", "BYTES", "COUNTED WITH", "FILE"}, right: []bool{true, true, true, true}}
	}
	add := func(c countJSON, encoding string) {
		row := []string{number(c.Count.Tokens)}
		if estimated {
			row = append(row, number(c.Count.Lo), number(c.Count.Hi))
		}
		t.add(append(row, number(c.Bytes), encoding, clean(c.File, false))...)
	}
	sum := countJSON{File: "total"}
	for _, c := range counts {
		add(c, c.Encoding)
		sum.Bytes += c.Bytes
		sum.Count.Tokens, sum.Count.Lo, sum.Count.Hi = sum.Count.Tokens+c.Count.Tokens, sum.Count.Lo+c.Count.Lo, sum.Count.Hi+c.Count.Hi
	}
	if len(counts) > 1 {
		add(sum, "")
	}
	if err := t.print(a, a.out); err != nil {
		return err
	}
	if estimated {
		by := ""
		if s := counts[0].Count.Source; s != "" {
			by = " (" + s + ")"
		}
		put(a.err, "estimated%s: the model's vocabulary is not public or not here; the bounds hold for whole sessions\n", by)
	}
	return nil
}
