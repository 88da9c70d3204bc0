package config

import (
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strings"
)

// Secret is a text that no log and no listing shows.
type Secret string

// String hides it.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[hidden]"
}

// GoString hides it.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides it.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Embeddings say who makes vectors for search, and within what limits. Off
// without a provider.
type Embeddings struct {
	Provider    string `toml:"provider"`     // ollama, openai, dashscope, custom, model2vec; empty: off
	BaseURL     string `toml:"base_url"`     // empty: the provider's
	Model       string `toml:"model"`        // empty: the provider's
	Dims        int    `toml:"dims"`         // 0: 256 where the model can, else its own
	APIKeyEnv   string `toml:"api_key_env"`  // variable that has the key; empty: the provider's
	Dir         string `toml:"dir"`          // of model2vec; absolute
	AllowRemote bool   `toml:"allow_remote"` // else only this machine is spoken to

	MaxCallsPerDay      *int64   `toml:"max_calls_per_day"`  // nil: a remote endpoint's default, no cap for a local one; 0: nothing is sent
	MaxTokensPerDay     *int64   `toml:"max_tokens_per_day"` // the same
	USDPerMillionTokens float64  `toml:"usd_per_million_tokens"`
	MaxUSDPerDay        *float64 `toml:"max_usd_per_day"` // nil: no cap; 0: nothing is sent
	DenyWorkspaces      []string `toml:"deny_workspaces"` // folders, absolute; nothing of them or below them is sent

	KeyVar string `toml:"-"` // variable that the key is taken from; empty: none is
	Key    Secret `toml:"-"` // by the environment, which may differ between programs
}

// embeddingProviders are the names of providers, and where their keys are by
// default.
var embeddingProviders = map[string]string{"ollama": "", "openai": "OPENAI_API_KEY", "dashscope": "DASHSCOPE_API_KEY", "custom": "", "model2vec": ""}

const embeddingKeys = "embeddings.{provider,base_url,model,dims,api_key_env,dir,allow_remote,max_calls_per_day,max_tokens_per_day,usd_per_million_tokens,max_usd_per_day,deny_workspaces}"

// resolve makes paths absolute and takes the key from the environment.
func (e *Embeddings) resolve(env Env, user string) (err error) {
	if e.Provider == "" {
		return nil
	}
	if e.KeyVar = first(e.APIKeyEnv, embeddingProviders[e.Provider]); e.KeyVar != "" {
		e.Key = Secret(strings.TrimSpace(env(e.KeyVar)))
	}
	if e.Dir != "" {
		if e.Dir, err = absolute(e.Dir, user); err != nil {
			return err
		}
	}
	e.DenyWorkspaces, err = folders(e.DenyWorkspaces, user)
	return err
}

// folders gives the folders of a list as they are compared: as written, as what
// ".." leads to depends on links, which whoever compares folders looks at. They
// may be of another system or machine.
func folders(list []string, user string) ([]string, error) {
	out := slices.Clone(list)
	for i, w := range out {
		w = strings.TrimSpace(w)
		if w == "~" || strings.HasPrefix(w, "~/") || strings.HasPrefix(w, `~\`) {
			if user == "" {
				return nil, fmt.Errorf("find %s: %w", w, ErrNoUser)
			}
			w = user + w[1:]
		}
		out[i] = w
	}
	return out, nil
}

// validate gives what is wrong, in the file's words; empty: nothing.
func (e *Embeddings) validate() string {
	if e.Provider == "" {
		if e.BaseURL != "" || e.Model != "" || e.Dir != "" || e.AllowRemote {
			return `embeddings.provider is missing; give "ollama", "openai", "dashscope", "custom" or "model2vec", or take the table out`
		}
		return ""
	}
	if _, ok := embeddingProviders[e.Provider]; !ok {
		return fmt.Sprintf(`embeddings.provider is %q; give "ollama", "openai", "dashscope", "custom" or "model2vec"`, e.Provider)
	}
	switch {
	case e.Provider == "model2vec" && e.Dir == "":
		return "embeddings.dir is missing; give the folder of the model"
	case e.Provider != "model2vec" && e.Dir != "":
		return "embeddings.dir is for model2vec only; take it out"
	case e.Provider == "custom" && (e.BaseURL == "" || e.Model == ""):
		return "embeddings.base_url and embeddings.model are needed for a custom endpoint"
	case e.Dims < 0 || e.Dims > 8192:
		return fmt.Sprintf("embeddings.dims is %d; give 1 to 8192, or leave it out", e.Dims)
	case negative(e.MaxCallsPerDay) || negative(e.MaxTokensPerDay):
		return "embeddings.max_calls_per_day and embeddings.max_tokens_per_day are numbers from 0 on; 0 is none at all, and left out they are the default"
	case !amount(e.USDPerMillionTokens) || e.MaxUSDPerDay != nil && !amount(*e.MaxUSDPerDay):
		return "embeddings.usd_per_million_tokens and embeddings.max_usd_per_day are amounts from 0 on"
	case e.MaxUSDPerDay != nil && *e.MaxUSDPerDay > 0 && e.USDPerMillionTokens == 0:
		return "embeddings.max_usd_per_day needs embeddings.usd_per_million_tokens: nobody else tells the price"
	}
	if wrong := wrongURL("embeddings.base_url", "/embeddings", "embeddings.api_key_env", e.BaseURL); wrong != "" {
		return wrong
	}
	if wrong := wrongVariable("embeddings.api_key_env", e.APIKeyEnv); wrong != "" {
		return wrong
	}
	for _, w := range e.DenyWorkspaces {
		if wrong := wrongFolder("embeddings.deny_workspaces", w); wrong != "" {
			return wrong
		}
	}
	return ""
}

// wrongURL says what is wrong with an endpoint's address, to which tail is added,
// without what may be a secret.
func wrongURL(key, tail, keyEnv, raw string) string {
	if raw == "" {
		return ""
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		if strings.ContainsAny(raw, "@?#") {
			raw = "[hidden]"
		}
		return fmt.Sprintf(`%s is %q; give an address such as "https://host/v1" or "http://127.0.0.1:11434/v1"`, key, raw)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Sprintf("%s of %s has more than a host and a path; take the rest out, and give a key by %s", key, u.Host, keyEnv)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), tail):
		return key + " ends with " + tail + ", which is added to it; take that out"
	}
	return ""
}

// wrongFolder says what is wrong with an entry of deny_workspaces, which must be
// one folder: what matches nothing would let it be sent.
func wrongFolder(key, w string) string {
	if strings.ContainsAny(strings.TrimPrefix(w, `\\?\`), "*?") {
		return fmt.Sprintf("%s has %q, but takes no wildcards; write the folder itself: all below it is denied, too", key, w)
	}
	drive := len(w) > 2 && ('a' <= w[0]|0x20 && w[0]|0x20 <= 'z') && w[1] == ':' && (w[2] == '/' || w[2] == '\\')
	if !strings.HasPrefix(w, "/") && !strings.HasPrefix(w, `\\`) && !drive {
		return fmt.Sprintf(`%s has %q, which is no whole path of a folder; write it from the root or from your home folder on, such as "/srv/client", "~/work/client" or 'C:\work'`, key, w)
	}
	return ""
}

func negative(n *int64) bool { return n != nil && *n < 0 }

func amount(f float64) bool { return f >= 0 && f < 1e6 && !math.IsNaN(f) }

// wrongEmbeddings says what the first setting of a wrong type should be.
func wrongEmbeddings(key string, v any) string {
	return wrongTypes(key, v, []string{"provider", "base_url", "model", "api_key_env", "dir"},
		[]string{"dims", "max_calls_per_day", "max_tokens_per_day"}, []string{"usd_per_million_tokens", "max_usd_per_day"}, []string{"allow_remote"})
}

// wrongTypes says what the first setting of a wrong type in a table should be;
// the table may have deny_workspaces, too.
func wrongTypes(key string, v any, texts, numbers, amounts, flags []string) string {
	is := func(want string, names []string, fits func(any) bool) string {
		return wrongTable(key, v, func(name string, v any) bool { return fits(v) || !slices.Contains(names, name) }, want)
	}
	text := func(v any) bool { _, ok := v.(string); return ok }
	whole := func(v any) bool { _, ok := v.(int64); return ok }
	flag := func(v any) bool { _, ok := v.(bool); return ok }
	for _, wrong := range []string{
		is("a text in quotes", texts, text),
		is("a whole number", numbers, whole),
		is("an amount such as 0.02", amounts, isNumber),
		is("true or false, without quotes", flags, flag),
	} {
		if wrong != "" {
			return wrong
		}
	}
	if table, ok := v.(map[string]any); ok && table["deny_workspaces"] != nil {
		return wrongList(key+".deny_workspaces", table["deny_workspaces"])
	}
	return ""
}
