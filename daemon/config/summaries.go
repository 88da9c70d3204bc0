package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Summaries say who may write summaries of sessions, and within what limits.
// Nobody by default.
type Summaries struct {
	ByCaller bool `toml:"by_caller"` // an agent that asks over MCP may

	Provider  string `toml:"provider"`    // whose model the daemon asks; empty: none, or custom if there is an endpoint
	Endpoint  string `toml:"endpoint"`    // empty: the provider's
	Model     string `toml:"model"`       // empty: the provider's
	APIKeyEnv string `toml:"api_key_env"` // variable that has the key; empty: the provider's
	Remote    bool   `toml:"remote"`      // else only this machine is spoken to
	Window    int    `toml:"window"`      // tokens the model takes in; 0: as far as it is known

	MinChars    *int   `toml:"min_chars"`    // of what was said, from which on a session is summarized; nil: usual
	MinTurns    *int   `toml:"min_turns"`    // or so many turns
	Quiet       string `toml:"quiet"`        // how long a session must have rested
	Cooldown    string `toml:"cooldown"`     // least time between two summaries of a session
	MaxAgeDays  int    `toml:"max_age_days"` // older sessions are left alone; 0: none is too old
	TargetChars int    `toml:"target_chars"` // of a memory file, in UTF-16 units; 0: usual

	MaxCallsPerDay      *int64   `toml:"max_calls_per_day"`      // nil: a remote endpoint's default, no cap for a local one; 0: nothing is sent
	MaxTokensPerDay     *int64   `toml:"max_tokens_per_day"`     // the same
	MaxUSDPerMonth      *float64 `toml:"max_usd_per_month"`      // the same
	USDPerMillionInput  *float64 `toml:"usd_per_million_input"`  // price; nil: from the table, if the model is in it
	USDPerMillionOutput *float64 `toml:"usd_per_million_output"` // the same
	DenyWorkspaces      []string `toml:"deny_workspaces"`        // folders, absolute; nothing of them or below them is sent

	KeyVar      string        `toml:"-"` // variable that the key is taken from; empty: none is
	Key         Secret        `toml:"-"` // by the environment, which may differ between programs
	QuietFor    time.Duration `toml:"-"`
	CooldownFor time.Duration `toml:"-"`
}

// The usual figures: most sessions are short enough to be read as they are, and
// one that goes on is not to be summarized again and again.
const (
	usualMinChars = 8_000
	usualMinTurns = 10
	usualQuiet    = 2 * time.Minute
	usualCooldown = 10 * time.Minute

	leastTarget, mostTarget = 1_200, 200_000
)

// Custom is the provider that is known by its endpoint alone.
const Custom = "custom"

// summaryProviders are the names of providers, and where their keys are by
// default.
var summaryProviders = map[string]string{
	"ollama": "", "lmstudio": "", "vllm": "", Custom: "", "deepseek": "DEEPSEEK_API_KEY", "openai": "OPENAI_API_KEY",
	"dashscope": "DASHSCOPE_API_KEY", "moonshot": "MOONSHOT_API_KEY", "openrouter": "OPENROUTER_API_KEY",
}

const summaryKeys = "summaries.{by_caller,provider,endpoint,model,api_key_env,remote,window,min_chars,min_turns,quiet,cooldown,max_age_days,target_chars," +
	"max_calls_per_day,max_tokens_per_day,max_usd_per_month,usd_per_million_input,usd_per_million_output,deny_workspaces}"

// On tells whether a model is asked.
func (s *Summaries) On() bool { return s.Provider != "" }

// Chars is how much must have been said for a session to be summarized.
func (s *Summaries) Chars() int { return or(s.MinChars, usualMinChars) }

// Turns is how many turns are enough for it, too.
func (s *Summaries) Turns() int { return or(s.MinTurns, usualMinTurns) }

func or(n *int, usual int) int {
	if n == nil {
		return usual
	}
	return *n
}

// resolve takes the key from the environment and reads times and folders.
func (s *Summaries) resolve(env Env, user string) (err error) {
	if s.Provider == "" && s.Endpoint != "" {
		s.Provider = Custom
	}
	s.QuietFor, s.CooldownFor = usualQuiet, usualCooldown
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{s.Quiet, &s.QuietFor}, {s.Cooldown, &s.CooldownFor}} {
		if d.text != "" {
			if *d.to, err = time.ParseDuration(d.text); err != nil {
				*d.to = -1 // validate says so
			}
		}
	}
	if !s.On() {
		return nil
	}
	if s.KeyVar = first(s.APIKeyEnv, summaryProviders[s.Provider]); s.KeyVar != "" {
		s.Key = Secret(strings.TrimSpace(env(s.KeyVar)))
	}
	s.DenyWorkspaces, err = folders(s.DenyWorkspaces, user)
	return err
}

// validate gives what is wrong, in the file's words; empty: nothing.
func (s *Summaries) validate() string {
	names := `"` + strings.Join(slices.Sorted(maps.Keys(summaryProviders)), `", "`) + `"`
	if _, ok := summaryProviders[s.Provider]; s.On() && !ok {
		return fmt.Sprintf(`summaries.provider is %q; give one of %s`, s.Provider, names)
	}
	switch {
	case !s.On() && (s.Model != "" || s.Remote || s.APIKeyEnv != ""):
		return "summaries.provider is missing; give one of " + names + ", or summaries.endpoint, or take model, remote and api_key_env out"
	case s.Provider == Custom && (s.Endpoint == "" || s.Model == ""):
		return "summaries.endpoint and summaries.model are needed for a custom endpoint"
	case s.Window != 0 && (s.Window < 2_000 || s.Window > 100_000_000):
		return fmt.Sprintf("summaries.window is %d; give the tokens that the model takes in, from 2000 on, or leave it out", s.Window)
	case s.MinChars != nil && *s.MinChars < 0 || s.MinTurns != nil && *s.MinTurns < 0:
		return "summaries.min_chars and summaries.min_turns are numbers from 0 on"
	case s.QuietFor < 0:
		return fmt.Sprintf(`summaries.quiet is %q; give a time such as "2m" or "90s"`, s.Quiet)
	case s.CooldownFor < 0:
		return fmt.Sprintf(`summaries.cooldown is %q; give a time such as "10m" or "1h"`, s.Cooldown)
	case s.MaxAgeDays < 0:
		return "summaries.max_age_days is a number of days; 0 is any age"
	case s.TargetChars != 0 && (s.TargetChars < leastTarget || s.TargetChars > mostTarget):
		return fmt.Sprintf("summaries.target_chars is %d; give %d to %d, or leave it out for 5000", s.TargetChars, leastTarget, mostTarget)
	case negative(s.MaxCallsPerDay) || negative(s.MaxTokensPerDay):
		return "summaries.max_calls_per_day and summaries.max_tokens_per_day are numbers from 0 on; 0 is none at all, and left out they are the default"
	case wrongAmount(s.MaxUSDPerMonth) || wrongAmount(s.USDPerMillionInput) || wrongAmount(s.USDPerMillionOutput):
		return "summaries.max_usd_per_month, summaries.usd_per_million_input and summaries.usd_per_million_output are amounts from 0 on"
	case (s.USDPerMillionInput == nil) != (s.USDPerMillionOutput == nil):
		return "summaries.usd_per_million_input and summaries.usd_per_million_output make a price together; give both or none"
	}
	if wrong := wrongURL("summaries.endpoint", "/chat/completions", "summaries.api_key_env", s.Endpoint); wrong != "" {
		return wrong
	}
	if wrong := wrongVariable("summaries.api_key_env", s.APIKeyEnv); wrong != "" {
		return wrong
	}
	for _, w := range s.DenyWorkspaces {
		if wrong := wrongFolder("summaries.deny_workspaces", w); wrong != "" {
			return wrong
		}
	}
	return ""
}

func wrongAmount(f *float64) bool { return f != nil && !amount(*f) }

// wrongSummaries says what the first setting of a wrong type should be.
func wrongSummaries(key string, v any) string {
	return wrongTypes(key, v, []string{"provider", "endpoint", "model", "api_key_env", "quiet", "cooldown"},
		[]string{"window", "min_chars", "min_turns", "max_age_days", "target_chars", "max_calls_per_day", "max_tokens_per_day"},
		[]string{"max_usd_per_month", "usd_per_million_input", "usd_per_million_output"}, []string{"by_caller", "remote"})
}
