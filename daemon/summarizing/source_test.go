package summarizing

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/summary/chat"
)

// The settings know the same providers as the client, and where their keys are.
func TestProvidersAreTheSettings(t *testing.T) {
	for p := chat.DeepSeek; p <= chat.Custom; p++ {
		home := t.TempDir()
		text := fmt.Sprintf("[summaries]\nprovider = %q\nmodel = \"m\"\nremote = true\n", p)
		if p == chat.Custom {
			text += "endpoint = \"http://127.0.0.1:1/v1\"\n"
		}
		if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.Flags{Home: home}, func(name string) string { return map[string]string{"HOME": home}[name] })
		if err != nil || c.Summaries.KeyVar != p.KeyEnv() {
			t.Errorf("%s: the key is in %q, not %q; %v", p, c.Summaries.KeyVar, p.KeyEnv(), err)
			continue
		}
		c.Summaries.Key = "k"
		w, err := whoIn(c)
		if err != nil || w.local && (w.day.Calls >= 0 || !w.priced) || !w.local && w.day.Calls != remoteCalls {
			t.Errorf("%s: %+v, %v", p, w, err)
		}
	}
}
