package embedding

import (
	"errors"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/embed"
	"github.com/session-migrator/session-migrator/store/spend"
)

// Fault says what of the settings can't be worked with where this program runs,
// and what to do about it; empty: nothing. Nothing is sent.
func Fault(c config.Config) (what, todo string) {
	if c.Embeddings.Provider == "" {
		return "", ""
	}
	s, err := open(c, 1)
	if err != nil {
		return err.Error(), fix(c, err)
	}
	defer s.Close()
	if s.Host() == "" {
		return "", ""
	}
	if err := capsOf(c.Embeddings, s.Local()).Allow(spend.Sum{}, spend.Sum{}); err != nil {
		return err.Error(), fix(c, err)
	}
	return "", ""
}

// fix says what to do about an error.
func fix(c config.Config, err error) string {
	table := "[embeddings] in " + c.File
	full, isCap := errors.AsType[*spend.CapError](err)
	switch {
	case isCap && full.Limit == 0:
		return "to have vectors made, raise the cap or take it out below " + table
	case isCap:
		return "nothing to do: it goes on tomorrow; the caps are below " + table
	case errors.Is(err, errEnter):
		return "see that there is room for the cache and that it can be written; nothing is sent until then"
	case errors.Is(err, embed.ErrRemote):
		return "write allow_remote = true below " + table + " if texts of sessions may be sent there, or take an endpoint on this machine"
	case errors.Is(err, errKey):
		return "set " + c.Embeddings.KeyVar + " where the daemon and your clients are started, or name another variable as api_key_env below " + table
	case errors.Is(err, embed.ErrOptions) && c.Embeddings.Provider == embed.Model2Vec.String():
		return "give the folder of a model, with its tokenizer.json and model.safetensors, as dir below " + table
	case errors.Is(err, embed.ErrOptions):
		return "mend " + table
	case errors.Is(err, embed.ErrRefused), errors.Is(err, embed.ErrRequest), errors.Is(err, embed.ErrAnswer):
		return "see that base_url, model, dims and the key below " + table + " are right for this endpoint"
	case errors.Is(err, embed.ErrUnavailable):
		return "see that the endpoint runs and can be reached; it is tried again by itself"
	}
	return "nothing to do: it is tried again by itself"
}
