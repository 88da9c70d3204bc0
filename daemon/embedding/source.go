package embedding

import (
	"context"
	"errors"
	"fmt"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/store/spend"
)

const (
	// What a remote endpoint gets in a day if the settings don't say: enough for
	// a day's work, not for years of sessions at once.
	remoteCalls  = 1000
	remoteTokens = 2_000_000
)

// source makes vectors.
type source interface {
	Embed(ctx context.Context, texts []string) (embed.Answer, error)
	Batch() int    // texts at a time
	Host() string  // where texts go
	Local() bool   // they stay on this machine
	Model() string // as the source calls it
	Close()
}

// errKey means that the key isn't there.
var errKey = errors.New("the key is missing")

// open gives what the settings ask for, with so many tries of a request; 0: the
// usual number. Nothing is sent.
func open(cfg config.Config, attempts int) (source, error) {
	c := cfg.Embeddings
	p, err := embed.ParseProvider(c.Provider)
	if err != nil {
		return nil, err
	}
	if p == embed.Model2Vec {
		l, err := embed.OpenLocal(c.Dir)
		if err != nil {
			return nil, err // not the nil *Local: that would be a source
		}
		return l, nil
	}
	opt := p.Fill(embed.Options{BaseURL: c.BaseURL, Model: c.Model, Dims: c.Dims, Key: string(c.Key), AllowRemote: c.AllowRemote, Attempts: attempts})
	s, err := embed.New(opt)
	if errors.Is(err, embed.ErrRemote) {
		return nil, fmt.Errorf("%w: allow_remote = true below [embeddings] in %s would let texts be sent there", err, cfg.File)
	}
	if err != nil {
		return nil, err
	}
	if c.KeyVar != "" && c.Key == "" && (!s.Local() || c.APIKeyEnv != "") {
		return nil, fmt.Errorf("%w: %s is not set where this program runs", errKey, c.KeyVar)
	}
	return s, nil
}

// nameOf tells the vectors of a source from all that can't be compared with
// them.
func nameOf(s source, c config.Embeddings) string {
	return fmt.Sprintf("%s at %s, %d", s.Model(), s.Host(), c.Dims)
}

// capsOf are the day's caps.
func capsOf(c config.Embeddings, local bool) spend.Caps {
	caps := spend.Caps{Calls: spend.NoCap, Tokens: spend.NoCap, MicroUSD: spend.NoCap}
	if !local {
		caps.Calls, caps.Tokens = remoteCalls, remoteTokens
	}
	if c.MaxCallsPerDay != nil {
		caps.Calls = *c.MaxCallsPerDay
	}
	if c.MaxTokensPerDay != nil {
		caps.Tokens = *c.MaxTokensPerDay
	}
	if c.MaxUSDPerDay != nil {
		caps.MicroUSD = spend.Cost(1_000_000, *c.MaxUSDPerDay)
	}
	return caps
}
