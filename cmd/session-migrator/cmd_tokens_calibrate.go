package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/counting"
	"github.com/session-migrator/session-migrator/daemon/deny"
	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/calibration"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/vendorcount"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/spend"
)

type calibrateFlags struct {
	model, as string
	dryRun    bool
}

// newestSessions is how many sessions samples are taken of if none is named.
const newestSessions = 12

func newTokensCalibrateCommand(a *app) *cobra.Command {
	var f calibrateFlags
	cmd := &cobra.Command{
		Use:   "calibrate --model MODEL [SESSION|FILE…]",
		Short: "Have a vendor count samples of yours, for better estimates",
		Long: `Sends samples of sessions (the newest without names) or of files to the vendor
of a model, who counts them, and keeps the ratio to the count made here, with its
spread, for all models that count alike. Secrets are taken out before. At most 25
calls are made; each is entered in the account ("spend") before it is sent. The
vendor must stand in the settings ([counting] vendors), with its key in the
environment; nothing is ever sent otherwise, nor by any other command. --dry-run
prints exactly what would be sent, and sends nothing.

Exit codes: 0 calibrated or shown, 1 failed, 2 wrong usage or not in the settings,
11 a daemon runs: stop it meanwhile, 12 no such session.`,
		Example: "  session-migrator tokens calibrate --model claude-sonnet-5-5 --dry-run",
		RunE: func(cmd *cobra.Command, given []string) error {
			if f.model == "" {
				return noModel("model")
			}
			return runTokensCalibrate(cmd.Context(), a, given, f)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.model, "model", "m", "", "model to ask about")
	fl.StringVar(&f.as, "as", "", "what the vendor calls the model, or its endpoint")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print what would be sent")
	completes(cmd, "model", a.completeModels)
	return cmd
}

type calibrateJSON struct {
	Schema      int                `json:"schema"`
	Vendor      string             `json:"vendor"`
	Host        string             `json:"host"`
	Model       string             `json:"model"` // as the vendor calls it
	DryRun      bool               `json:"dry_run"`
	Samples     []counting.Sample  `json:"samples,omitempty"` // of a dry run
	Tokens      int64              `json:"tokens"`            // of all samples, as counted here
	Counts      []tokens.Result    `json:"counts,omitempty"`  // of each sample, by the vendor
	Calibration *calibration.Entry `json:"calibration,omitempty"`
}

func runTokensCalibrate(ctx context.Context, a *app, given []string, f calibrateFlags) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	m, _ := capacity.Default().Lookup(f.model) // one that isn't in the table has a family too
	if m.CountExact {
		return hinted(usagef("%s is counted exactly already, with %s", clean(f.model, false), m.Encoding), "name a model that is estimated")
	}
	v, ok := vendorcount.Of(m.Vendor)
	if !ok || m.Family == "" {
		return hinted(usagef("nobody is known who counts for %s", clean(f.model, false)), "Anthropic, OpenAI, Google, Volcengine and xAI count for their own models")
	}
	client, err := counterOf(c, v)
	if err != nil {
		return err
	}
	defer client.Close()
	out := calibrateJSON{Schema: 1, Vendor: v.String(), Host: client.Host(), Model: f.as, DryRun: f.dryRun}
	if out.Model == "" {
		out.Model = f.model[strings.LastIndexByte(f.model, '/')+1:]
	}
	texts, err := a.sampleTexts(ctx, c, given)
	if err != nil {
		return err
	}
	o200k, err := tokens.New(tokens.O200kBase)
	if err != nil {
		return err
	}
	samples := counting.Cut(texts, func(s string) int64 { return int64(o200k.CountString(s)) })
	for _, s := range samples {
		out.Tokens += s.Counted
	}
	if len(samples) < calibration.LeastSamples {
		return hinted(fmt.Errorf("%w: %d samples, where it takes %d", calibration.ErrFew, len(samples), calibration.LeastSamples), "name more sessions, or files of text like that of your sessions")
	}
	if f.dryRun {
		out.Samples = samples
		return printCalibrationPlan(a, out)
	}
	run := counting.Run{Counter: client, Caps: counting.Caps(c.Counting), Model: out.Model, Now: a.now}
	var counts []calibration.Sample
	err = daemon.Write(ctx, daemon.Options{Config: c, Version: version}, func(ctx context.Context, db *store.DB) error {
		run.Ledger = db
		counts, err = run.Count(ctx, samples)
		return err
	})
	if err != nil {
		return notCalibrated(c, v, err)
	}
	e, err := calibration.Measure(counts)
	if err != nil {
		return hinted(err, "nothing was kept: see that the model is the one meant, or give --as")
	}
	e.Family, e.Model, e.Vendor, e.Date = m.Family, out.Model, v.String(), a.now().UTC()
	if err := calibration.Save(c.Home, e); err != nil {
		return err
	}
	for _, n := range counts {
		out.Counts = append(out.Counts, tokens.Result{Tokens: n.Vendor, Method: tokens.Vendor, Lo: n.Vendor, Hi: n.Vendor, Encoding: out.Model, Source: client.Host()})
	}
	out.Calibration = &e
	if a.flags.json {
		return a.printJSON(out)
	}
	put(a.out, "%s counted %d samples of %s tokens: × %.3f (%.3f to %.3f) of o200k_base\nkept for all models of the family %s, from now on\n",
		client.Host(), e.Samples, number(e.Counted), e.Typical, e.Low, e.High, e.Family)
	return nil
}

// calibrated gives the factors that were measured for a model, if it is one that
// is estimated.
func (a *app) calibrated(m capacity.Model) (calibration.Entry, bool) {
	c, err := a.config()
	if err != nil || m.CountExact || m.Encoding != tokens.O200kBase {
		return calibration.Entry{}, false
	}
	book, err := calibration.Open(c.Home)
	if err != nil {
		a.warn("%v", err)
	}
	return book.For(m.Family)
}

// counterOf gives whom the settings allow to be asked.
func counterOf(c config.Config, v vendorcount.Vendor) (*vendorcount.Client, error) {
	name := v.String()
	if !slices.Contains(c.Counting.Vendors, name) {
		return nil, hinted(usagef("the settings let nothing be sent to %s", name), fmt.Sprintf("if samples of your sessions may be counted there, write [counting] with vendors = [%q] into %s", name, c.File))
	}
	key := c.Counting.Keys[name]
	client, err := vendorcount.New(vendorcount.Options{Vendor: v, BaseURL: c.Counting.BaseURL[name], Key: string(key.Value)})
	if err != nil {
		todo := "mend [counting] in " + c.File
		if base := c.Counting.BaseURL[name]; key.Value == "" && (base == "" || strings.HasPrefix(base, "https://")) {
			todo = fmt.Sprintf("set %s where this command runs, or name another variable as api_key_env below [counting] in %s", key.Var, c.File)
		}
		return nil, hinted(usageError{err}, todo)
	}
	return client, nil
}

func notCalibrated(c config.Config, v vendorcount.Vendor, err error) error {
	if wait, ok := errors.AsType[*vendorcount.WaitError](err); ok {
		return hinted(err, fmt.Sprintf("nothing was kept: try again in %v", wait.For))
	}
	switch {
	case errors.Is(err, spend.ErrCap):
		return hinted(err, "nothing was kept: try again tomorrow, or raise the caps below [counting] in "+c.File)
	case errors.Is(err, vendorcount.ErrRefused):
		return hinted(err, fmt.Sprintf("nothing was kept: see that %s is right, and that the vendor knows the model by that name (--as)", c.Counting.Keys[v.String()].Var))
	case errors.Is(err, vendorcount.ErrUnavailable), errors.Is(err, vendorcount.ErrAnswer):
		return hinted(err, "nothing was kept: try again later")
	}
	return err
}

func printCalibrationPlan(a *app, out calibrateJSON) error {
	if a.flags.json {
		return a.printJSON(out)
	}
	put(a.out, "would send to %s (%s), as %s: the letter \"a\" and %d samples, %s tokens as counted here\n", out.Host, out.Vendor, clean(out.Model, false), len(out.Samples), number(out.Tokens))
	for i, s := range out.Samples {
		put(a.out, "── %d: %s tokens, %s ──\n%s\n", i+1, number(s.Counted), orDash(s.Thread), clean(s.Text, true))
	}
	return nil
}

// sampleTexts gives what samples are cut from, without secrets: of the sessions
// and files named, or of the newest sessions. What the settings deny is left out,
// or refused if it was named.
func (a *app) sampleTexts(ctx context.Context, c config.Config, given []string) (out []counting.Text, err error) {
	var sessions []string
	for _, g := range given {
		st, err := os.Stat(g)
		if err != nil || st.IsDir() || strings.Contains(filepath.Base(g), "rollout-") {
			sessions = append(sessions, g)
			continue
		}
		path, err := filepath.Abs(g)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", g, err)
		}
		if deny.New(c.Counting.DenyWorkspaces).Has(filepath.Dir(path)) {
			return nil, usagef("%s is in a folder of counting.deny_workspaces", clean(g, false))
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("take samples: %w", err)
		}
		out = append(out, counting.Text{Text: pipeline.RedactText(strings.ToValidUTF8(string(text), "\uFFFD"))})
	}
	if len(given) > 0 && len(sessions) == 0 {
		return out, nil
	}
	r, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer r.close()
	ids, err := r.threads(ctx, sessions)
	if err != nil {
		return nil, err
	}
	if len(given) == 0 {
		threads, _, err := r.db.Threads(ctx, store.Filter{Limit: newestSessions})
		if err != nil {
			return nil, err
		}
		for _, t := range threads {
			ids = append(ids, t.ID)
		}
	}
	for _, id := range ids {
		v, err := r.pipe.View(ctx, id)
		if err != nil {
			return nil, err
		}
		denied, err := deny.New(c.Counting.DenyWorkspaces).Lineage(ctx, r.db, v.Thread)
		if err != nil {
			return nil, err
		}
		if denied && len(given) > 0 {
			return nil, usagef("session %s is of a folder in counting.deny_workspaces", id)
		}
		if denied {
			continue
		}
		var text strings.Builder
		ms, _ := pipeline.HandedOn(v.Messages)
		for i := range ms {
			if m := &ms[i]; m.Role.Migrates() {
				text.WriteString(m.Body())
				text.WriteByte('\n')
			}
		}
		out = append(out, counting.Text{Thread: id, Text: text.String()})
	}
	return out, nil
}
