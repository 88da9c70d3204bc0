package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Counting says which vendors may be asked how they count texts of the user's,
// and within what limits. Off without vendors. Nothing is asked by itself: the
// user's command does.
type Counting struct {
	Vendors         []string          `toml:"vendors"`            // anthropic, openai, google, volcengine, xai
	APIKeyEnv       map[string]string `toml:"api_key_env"`        // variable that has a vendor's key; missing: its usual one
	BaseURL         map[string]string `toml:"base_url"`           // missing: the vendor's
	MaxCallsPerDay  *int64            `toml:"max_calls_per_day"`  // nil: the default; 0: nothing is sent
	MaxTokensPerDay *int64            `toml:"max_tokens_per_day"` // the same, in and out
	DenyWorkspaces  []string          `toml:"deny_workspaces"`    // folders, absolute; nothing of them or below them is sent

	Keys map[string]Key `toml:"-"` // by vendor, from the environment
}

// Key is a secret, and where it was looked for.
type Key struct {
	Var   string
	Value Secret
}

// countingVendors are the vendors that count, and where their keys are usually.
var countingVendors = map[string]string{
	"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "google": "GEMINI_API_KEY", "volcengine": "ARK_API_KEY", "xai": "XAI_API_KEY",
}

const countingKeys = "counting.{vendors,api_key_env,base_url,max_calls_per_day,max_tokens_per_day,deny_workspaces}"

// resolve takes the keys from the environment.
func (c *Counting) resolve(env Env, user string) (err error) {
	c.Keys = map[string]Key{}
	for _, v := range c.Vendors {
		name := first(c.APIKeyEnv[v], countingVendors[v])
		if name != "" {
			c.Keys[v] = Key{Var: name, Value: Secret(strings.TrimSpace(env(name)))}
		}
	}
	c.DenyWorkspaces, err = folders(c.DenyWorkspaces, user)
	return err
}

// validate gives what is wrong, in the file's words; empty: nothing.
func (c *Counting) validate() string {
	known := slices.Sorted(maps.Keys(countingVendors))
	for _, v := range slices.Concat(c.Vendors, slices.Sorted(maps.Keys(c.APIKeyEnv)), slices.Sorted(maps.Keys(c.BaseURL))) {
		if _, ok := countingVendors[v]; !ok {
			return fmt.Sprintf("counting names the vendor %q; give one of %s", v, strings.Join(known, ", "))
		}
	}
	if negative(c.MaxCallsPerDay) || negative(c.MaxTokensPerDay) {
		return "counting.max_calls_per_day and counting.max_tokens_per_day are numbers from 0 on; 0 is none at all, and left out they are the default"
	}
	for _, v := range slices.Sorted(maps.Keys(c.APIKeyEnv)) {
		if wrong := wrongVariable("counting.api_key_env."+v, c.APIKeyEnv[v]); wrong != "" {
			return wrong
		}
	}
	for _, w := range c.DenyWorkspaces {
		if wrong := wrongFolder("counting.deny_workspaces", w); wrong != "" {
			return wrong
		}
	}
	return ""
}

// wrongCounting says what the first setting of a wrong type should be.
func wrongCounting(key string, v any) string {
	table, ok := v.(map[string]any)
	if !ok {
		return wrongTable(key, v, nil, "")
	}
	for _, name := range []string{"vendors", "deny_workspaces"} {
		if table[name] == nil {
			continue
		}
		if wrong := wrongList(key+"."+name, table[name]); wrong != "" {
			return wrong
		}
	}
	for _, name := range []string{"api_key_env", "base_url"} {
		if table[name] == nil {
			continue
		}
		if wrong := wrongTable(key+"."+name, table[name], func(_ string, v any) bool { _, ok := v.(string); return ok }, "a text in quotes"); wrong != "" {
			return wrong
		}
	}
	return wrongTable(key, v, func(name string, v any) bool {
		_, whole := v.(int64)
		return whole || !strings.HasPrefix(name, "max_")
	}, "a whole number")
}
