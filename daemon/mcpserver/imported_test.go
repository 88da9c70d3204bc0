package mcpserver_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
)

// A server that runs counts with a vocabulary from the moment it was imported.
func TestRunningServerFollowsImports(t *testing.T) {
	d := projects(t).deps()
	dir := filepath.Join(t.TempDir(), "vocabularies")
	shelf, err := vocabs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	d.PipelineOptions.Vocabularies = shelf
	c := legacy(t, d)
	check := func(count, encoding string) {
		t.Helper()
		var decision, model struct {
			Count    string `json:"token_count"`
			Encoding string `json:"encoding"`
		}
		c.data("get_migration_decision", `{"session":"`+projID+`","target_model":"kimi-k2.6"}`, &decision)
		c.data("model_context_window", `{"model":"kimi-k2.6"}`, &model)
		if decision.Count != count || model.Count != count || decision.Encoding != encoding || model.Encoding != encoding {
			t.Errorf("decision %+v, model %+v; want %s in %s", decision, model, count, encoding)
		}
	}
	check("estimate", "o200k_base")
	var b strings.Builder
	for i := range 256 {
		fmt.Fprintf(&b, "%s %d\n", base64.StdEncoding.EncodeToString([]byte{byte(i)}), i)
	}
	v, err := tokens.Import([]byte(b.String()), "kimi")
	if err != nil {
		t.Fatal(err)
	}
	if err := vocabs.Save(dir, vocabs.Entry{Name: "bytes", Models: []string{"kimi-k2*"}, SHA256: v.SHA256, Split: "kimi", Tokens: v.Tokens}, []byte(b.String())); err != nil {
		t.Fatal(err)
	}
	check("exact", "bytes")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	check("estimate", "o200k_base")
}
