package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/pipeline/tokens"
	"github.com/session-migrator/session-migrator/pipeline/vocabs"
)

type importFlags struct {
	models       []string
	name, split  string
	expectedHash string
}

func newTokensImportCommand(a *app) *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import [FILE]",
		Short: "Count exactly for models whose vocabulary can't be shipped",
		Long: `Reads the vocabulary that a publisher gives out with a model: tokenizer.json
(byte-level BPE), a .tiktoken rank file, or tekken.json. It is kept in the data
folder with its SHA-256 pinned; from then on "tokens --model", "decide", "migrate"
and the MCP server count exactly for these models. Lists what was imported
without FILE.

--for names models: "qwen3" is that and "qwen3-max", not the version after it;
"llama-3*" is all that begins so. Without it the models are told by the split and
the size of the vocabulary where these are known. What a file asks for that is not
known to the letter (a pattern, a kind of model) is refused.

Exit codes: 0 imported or listed, 1 not to be read or refused, 2 wrong usage,
12 no such file or model.`,
		Example: "  session-migrator tokens import tokenizer.json --for qwen3",
		Args:    args(0, 1, "one FILE"),
		RunE: func(_ *cobra.Command, given []string) error {
			if len(given) == 0 && (len(f.models) > 0 || f.name+f.split+f.expectedHash != "") {
				return hinted(usagef("no FILE is given"), "give the file to import; without flags the command lists what was imported")
			}
			if len(given) == 0 {
				return listVocabularies(a)
			}
			return runTokensImport(a, given[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&f.models, "for", nil, "models that it counts for, repeatable")
	fl.StringVar(&f.name, "name", "", "name of the encoding (default the first model)")
	fl.StringVar(&f.split, "split", "", "how a rank file's text is split: o200k, cl100k, qwen, tekken, kimi or deepseek")
	fl.StringVar(&f.expectedHash, "sha256", "", "refuse a file with another hash")
	choice(cmd, "split", "o200k", "cl100k", "qwen", "tekken", "kimi", "deepseek")
	return cmd
}

// vocabularies are those that were imported. One that can't be read is warned
// of.
func (a *app) vocabularies() (*vocabs.Shelf, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	shelf, err := vocabs.Open(c.Vocabularies())
	if err != nil {
		a.warn("%v", err)
	}
	return shelf, nil
}

type importedJSON struct {
	Schema       int            `json:"schema"`
	Vocabularies []vocabs.Entry `json:"vocabularies"`
}

func listVocabularies(a *app) error {
	shelf, err := a.vocabularies()
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(importedJSON{Schema: 1, Vocabularies: list(shelf.Entries())})
	}
	t := table{head: []string{"NAME", "TOKENS", "SPLIT", "SHA-256", "MODELS"}, right: []bool{false, true}}
	for _, e := range shelf.Entries() {
		t.add(clean(e.Name, false), number(e.Tokens), e.Split, e.SHA256, clean(strings.Join(e.Models, " "), false))
	}
	return t.print(a, a.out)
}

func runTokensImport(a *app, path string, f importFlags) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	wanted, err := importedFor(c, f.models)
	if err != nil {
		return err
	}
	if f.expectedHash != "" && !hexHash().MatchString(f.expectedHash) {
		return hinted(usagef("--sha256 %q is no SHA-256", clean(f.expectedHash, false)), "give the 64 hexadecimal digits that the publisher names, or leave it out")
	}
	file, err := readVocabulary(path)
	if err != nil {
		return err
	}
	v, err := tokens.Import(file, f.split)
	if err != nil {
		return notImported(path, file, f.split, err)
	}
	if f.expectedHash != "" && !strings.EqualFold(f.expectedHash, v.SHA256) {
		return hinted(fmt.Errorf("import %s: its SHA-256 is %s, not %s", path, v.SHA256, f.expectedHash), "fetch the file anew from its publisher")
	}
	e := vocabs.Entry{Name: f.name, Models: wanted, SHA256: v.SHA256, Split: v.Split.String(), Tokens: v.Tokens, NFC: v.NFC, Closed: v.Closed}
	usual, models := vocabs.Usual(v)
	if len(e.Models) == 0 {
		e.Models = models
	}
	if len(e.Models) == 0 {
		return hinted(usagef("which models %s counts for can't be told from the file", clean(path, false)), "name them with --for MODEL, such as --for 'mistral-large*'")
	}
	if e.Name == "" && len(f.models) == 0 {
		e.Name = usual
	}
	if e.Name == "" {
		e.Name = strings.TrimRight(e.Models[0], "*-")
	}
	if err := vocabs.Save(c.Vocabularies(), e, file); errors.Is(err, vocabs.ErrName) {
		return hinted(usageError{err}, "give another --name, such as qwen3")
	} else if err != nil {
		return hinted(err, "see that the data folder has room and can be written to")
	}
	if a.flags.json {
		return a.printJSON(importedJSON{Schema: 1, Vocabularies: []vocabs.Entry{e}})
	}
	put(a.out, "%s: %s tokens, split as %s, for %s\nsha256 %s, pinned\n", e.Name, number(e.Tokens), e.Split, strings.Join(e.Models, ", "), e.SHA256)
	return nil
}
