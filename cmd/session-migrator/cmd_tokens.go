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
)

type tokensFlags struct{ model, encoding string }

func newTokensCommand(a *app) *cobra.Command {
	var f tokensFlags
	cmd := &cobra.Command{
		Use:   "tokens [FILE…]",
		Short: "Count tokens of files, or of stdin",
		Long: `Counts the tokens of each file, or of stdin without files or for "-". With
--model the model's own encoding is used where it is published; else the count
is of the closest one and "exact" is false.

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
	cmd.Flags().StringVarP(&f.encoding, "encoding", "e", "", "o200k_base (default), cl100k_base, p50k_base or r50k_base")
	completes(cmd, "model", a.completeModels)
	choice(cmd, "encoding", "o200k_base", "cl100k_base", "p50k_base", "r50k_base")
	return cmd
}

type tokensJSON struct {
	Schema int         `json:"schema"`
	Counts []countJSON `json:"counts"`
	Failed []failJSON  `json:"failed,omitempty"`
}

type countJSON struct {
	File     string          `json:"file"`
	Encoding tokens.Encoding `json:"encoding"`
	Exact    bool            `json:"exact"` // the encoding is the model's own
	Tokens   int64           `json:"tokens"`
	Bytes    int64           `json:"bytes"`
	// UpperBound is what the model may count at most, where exact is false.
	UpperBound int64 `json:"upper_bound,omitempty"`
}

type failJSON struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

// counting is what a model or encoding means for counting.
type counting struct {
	encoding tokens.Encoding
	exact    bool
	factor   float64
}

func (f tokensFlags) counting(a *app) (counting, error) {
	switch {
	case f.encoding != "" && f.model != "":
		return counting{}, usagef("--model and --encoding exclude each other")
	case f.encoding != "":
		e, err := tokens.ParseEncoding(f.encoding)
		if err != nil {
			return counting{}, usageError{err}
		}
		return counting{e, true, 1}, nil
	case f.model != "":
		m, err := capacity.Default().Lookup(f.model)
		if err != nil {
			a.warn("nothing is known of %s: counted with %s", f.model, m.Encoding)
		}
		return counting{m.Encoding, m.CountExact, m.FactorHigh}, nil
	}
	return counting{tokens.O200kBase, true, 1}, nil
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

func (c counting) count(a *app, file string) (countJSON, error) {
	in := a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return countJSON{}, fmt.Errorf("count tokens: %w", err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	n, size, err := tokens.CountReader(c.encoding, in)
	if err != nil {
		return countJSON{}, fmt.Errorf("count tokens of %s: %w", file, err)
	}
	j := countJSON{File: file, Encoding: c.encoding, Exact: c.exact, Tokens: n, Bytes: size}
	if !c.exact && c.factor > 1 {
		j.UpperBound = int64(float64(n)*c.factor) + 1
	}
	return j, nil
}

func printCounts(a *app, counts []countJSON) error {
	if len(counts) == 1 && counts[0].UpperBound == 0 {
		_, err := fmt.Fprintln(a.out, counts[0].Tokens)
		return err
	}
	t := table{head: []string{"TOKENS", "AT MOST", "BYTES", "ENCODING", "FILE"}, right: []bool{true, true, true}}
	var sum countJSON
	for _, c := range counts {
		most := c.Tokens
		if c.UpperBound > 0 {
			most = c.UpperBound
		}
		t.add(number(c.Tokens), number(most), number(c.Bytes), c.Encoding.String(), clean(c.File, false))
		sum.Tokens, sum.Bytes, sum.UpperBound = sum.Tokens+c.Tokens, sum.Bytes+c.Bytes, sum.UpperBound+most
	}
	if len(counts) > 1 {
		t.add(number(sum.Tokens), number(sum.UpperBound), number(sum.Bytes), "", "total")
	}
	return t.print(a, a.out)
}
