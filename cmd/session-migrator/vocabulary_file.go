package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/pipeline/capacity"
	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/store"
)

// vocabularyNames are the files that publishers give out, the best first.
var vocabularyNames = [...]string{"tokenizer.json", "tekken.json", "tiktoken.model", "qwen.tiktoken"}

// readVocabulary reads what --for is to count with. What goes wrong says what to
// give instead.
func readVocabulary(path string) ([]byte, error) {
	file, err := os.ReadFile(path)
	if err == nil {
		return file, nil
	}
	err = fmt.Errorf("import vocabulary: %w", err)
	beside := ""
	dir := path
	if st, statErr := os.Stat(path); statErr != nil || !st.IsDir() {
		dir = filepath.Dir(path)
	}
	for _, name := range vocabularyNames {
		if _, statErr := os.Stat(filepath.Join(dir, name)); statErr == nil {
			beside = filepath.Join(dir, name)
			break
		}
	}
	hint := "give the path of the model's tokenizer.json, .tiktoken or tekken.json; it lies beside the weights where the model is published"
	if beside != "" {
		hint = "give the file: " + clean(beside, false)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, hinted(fmt.Errorf("%w: %w", store.ErrNotFound, err), hint)
	case dir == path:
		return nil, hinted(usagef("%s is a folder", clean(path, false)), hint)
	case errors.Is(err, fs.ErrPermission):
		return nil, hinted(err, fmt.Sprintf("let it be read: chmod u+r %q", path))
	}
	return nil, hinted(err, hint)
}

// notImported says why a file isn't taken, and what to give instead.
func notImported(path string, file []byte, split string, err error) error {
	wrong := fmt.Errorf("import %s: %w", clean(path, false), err)
	head := bytes.TrimLeft(file, " \t\r\n\ufeff")
	name := strings.ToLower(filepath.Base(path))
	const give = "give the model's tokenizer.json (byte-level BPE), .tiktoken or tekken.json"
	switch {
	case errors.Is(err, tokens.ErrSplit):
		return hinted(usageError{wrong}, "a .tiktoken file doesn't say how text is split: add --split with the one that the publisher's code has; for other files leave --split out")
	case errors.Is(err, tokens.ErrUnsupported):
		return hinted(wrong, "the file is right, but this program doesn't know its way of counting to the letter; nothing was changed, the model stays estimated")
	case len(head) == 0:
		return hinted(wrong, "the file is empty: fetch it again from its publisher")
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return hinted(wrong, `this is a pointer of Git LFS, not the file: run "git lfs pull" there, or download the file itself`)
	case head[0] == '<':
		return hinted(wrong, "this is a web page: download the file itself (on Hugging Face by resolve/, not blob/)")
	case strings.HasSuffix(name, ".safetensors") || strings.HasSuffix(name, ".gguf") || strings.HasSuffix(name, ".bin"):
		return hinted(wrong, "these are the model's weights; "+give+", which lies beside them")
	case bytes.IndexByte(file[:min(len(file), 1024)], 0) >= 0 || strings.HasPrefix(name, "tokenizer.model") && head[0] != '{':
		return hinted(wrong, "this looks like a SentencePiece model, which isn't supported; "+give+" if there is one beside it")
	case head[0] == '{' && !json.Valid(file):
		return hinted(wrong, "the file ends in the middle or is damaged: fetch it again from its publisher")
	case head[0] == '{':
		return hinted(wrong, give+"; tokenizer_config.json, config.json, vocab.json and what programs made of these aren't enough")
	case split != "":
		return hinted(wrong, "lines of a .tiktoken file are a token in base64 and its rank; "+give)
	}
	return hinted(wrong, give)
}

// hexHash is a SHA-256 as people write it.
var hexHash = pattern.Lazy(`^[0-9a-fA-F]{64}$`)

// importedFor gives the ids that --for means. A name that neither the table nor
// the settings know, and that is of no family, is one that nobody asks for.
func importedFor(c config.Config, given []string) (models []string, err error) {
	table := capacity.Default()
	for _, m := range given {
		plain, any := strings.CutSuffix(m, "*")
		canonical := table.Canonical(plain)
		if strings.Trim(canonical, "-*") == "" || strings.Contains(canonical, "*") {
			return nil, hinted(usagef("--for %q names no model", clean(m, false)), `give a name, such as qwen3, or the beginning of names, such as 'llama-3*'`)
		}
		known, err := table.Lookup(strings.TrimRight(canonical, "-"))
		_, own := c.Models[plain]
		switch {
		case err == nil && known.CountExact:
			return nil, hinted(usagef("%s is counted exactly by the program itself, with %s", clean(m, false), known.Encoding), "name the models that the file is of")
		case err != nil && known.Vendor == "" && !own && !any && len(table.Search(canonical, 0, 1)) == 0:
			hint := fmt.Sprintf(`give a name that "session-migrator models" lists, or make %s one: write [models.%q] with its context into %s`, clean(m, false), plain, c.File)
			if close := table.Closest(canonical, 3); len(close) > 0 {
				hint = "did you mean " + joined(close) + "? Else " + hint
			}
			return nil, hinted(fmt.Errorf("model %s: %w", clean(m, false), store.ErrNotFound), hint)
		}
		if any {
			canonical += "*"
		}
		models = append(models, canonical)
	}
	return models, nil
}
