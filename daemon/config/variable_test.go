package config

import (
	"strings"
	"testing"
)

// A key that stands where the name of its variable belongs is not said again.
func TestNoKeyForAVariable(t *testing.T) {
	for _, name := range []string{"", "MY_KEY", "my_key2", "_K", "OPENROUTER_API_KEY_OF_THE_TEAM_IN_BERLIN_2026", "DeepSeekApiKeyOfTheTeam"} {
		if wrong := wrongVariable("x.api_key_env", name); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
	}
	for _, name := range []string{"sk-abcdefgh", "2KEY", "A B", "$MY_KEY", "MY KEY=1", "gsk_AbCdEf0123456789AbCdEf", "AIzaSyAbCdEf0123456789AbCdEf", "a8f5f167f44f4964e6c998dee827110c", strings.Repeat("A", 65)} {
		wrong := wrongVariable("x.api_key_env", name)
		if !strings.HasPrefix(wrong, "x.api_key_env is no name") || len(name) > 4 && strings.Contains(wrong, name) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}
