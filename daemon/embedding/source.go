package embedding

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
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

// denied are folders of which nothing is sent.
type denied []string

// deny reads the list of the settings. A link counts as what it leads to, too.
func deny(folders []string) (d denied) {
	for _, f := range folders {
		d = append(d, keys(f)...)
	}
	return d
}

// keys are the names by which a folder is compared, rather too alike than too
// different: as it is written, and by the links of this machine. It need not
// exist here.
func keys(folder string) []string {
	folder = strings.TrimSpace(folder)
	out := []string{key(folder)}
	if real, ok := resolved(folder); ok {
		if k := key(real); k != out[0] {
			out = append(out, k)
		}
	}
	return out
}

func key(folder string) string {
	return strings.ToLower(strings.TrimRight(path.Clean(transcript.WorkspaceKey(folder)), "/"))
}

// resolved follows the links in a folder, as far down as it exists.
func resolved(folder string) (string, bool) {
	if !filepath.IsAbs(folder) {
		return "", false
	}
	for at := len(folder); at > 0; at = strings.LastIndexAny(folder[:at], `/`+string(os.PathSeparator)) {
		if real, err := filepath.EvalSymlinks(folder[:at]); err == nil {
			return filepath.Join(real, folder[at:]), true
		}
	}
	return "", false
}

// whole tells whether a folder is named from the root on.
func whole(folder string) bool {
	k := transcript.WorkspaceKey(strings.TrimSpace(folder))
	return strings.HasPrefix(k, "/") || len(k) > 1 && k[1] == ':'
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
	if len(d) == 0 {
		return false
	}
	known := false
	for _, f := range []string{t.Workspace, t.Cwd} {
		if f != "" && (!whole(f) || d.has(f)) {
			return true
		}
		known = known || f != ""
	}
	return !known
}
