package embedding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
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
func open(c config.Embeddings, attempts int) (source, error) {
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
	caps := spend.Caps{Calls: c.MaxCallsPerDay, Tokens: c.MaxTokensPerDay, MicroUSD: spend.Cost(1_000_000, c.MaxUSDPerDay)}
	if !local {
		if caps.Calls == 0 {
			caps.Calls = remoteCalls
		}
		if caps.Tokens == 0 {
			caps.Tokens = remoteTokens
		}
	}
	return caps
}

// denied are folders of which nothing is sent.
type denied []string

// deny reads the list of the settings. A link counts as what it leads to, too.
func deny(folders []string) (d denied) {
	for _, f := range folders {
		d = append(d, keys(f)...)
	}
	return d
}

// keys are the names by which a folder is compared: rather too alike than too
// different.
func keys(folder string) []string {
	out := []string{strings.ToLower(strings.TrimRight(transcript.WorkspaceKey(folder), "/"))}
	if real, err := filepath.EvalSymlinks(folder); err == nil && real != folder {
		out = append(out, strings.ToLower(strings.TrimRight(transcript.WorkspaceKey(real), string(os.PathSeparator))))
	}
	return out
}

// has tells whether a folder is one of them, or below one.
func (d denied) has(folder string) bool {
	for _, k := range keys(folder) {
		for _, f := range d {
			if k == f || strings.HasPrefix(k, f+"/") {
				return true
			}
		}
	}
	return false
}

// thread tells whether a thread is denied by its folders. One whose folder
// nobody knows might be in any.
func (d denied) thread(t transcript.Thread) bool {
	return len(d) > 0 && (t.Cwd == "" && t.Workspace == "" || d.has(t.Workspace) || d.has(t.Cwd))
}
