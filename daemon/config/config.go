// Package config settles what a run works with: the data folder, the Codex
// homes, and the settings in config.toml.
//
// The way of the data: command-line flags over environment over config.toml over
// defaults, resolved once by Load into a Config of absolute paths that is passed
// on by value. Nothing else in the program reads the environment.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Config is what a run works with. All paths are absolute.
type Config struct {
	Home       string   // data folder
	CodexHomes []string // folders that hold sessions/ and archived_sessions/
	File       string   // config.toml that was read, or would be
	Targets    []string // models that every thread is decided for; nil: the built-in list
	MemoryDir  string   // drop folder

	Reserve int     // tokens left free in a target's window; 0: by model
	Comfort float64 // share of the room that counts as comfortable; 0: default

	Models map[string]Model // the user's own figures

	User string            // home folder of the user; empty if nothing tells
	Vars map[string]string // variables that say where other programs look; those that are set

	Handoff    Handoff
	Embeddings Embeddings
	Summaries  Summaries
	Counting   Counting
}

// Handoff is when a session is said to be running out, and where.
type Handoff struct {
	Threshold float64 `toml:"threshold"` // share in use; 0: default
	Notify    bool    `toml:"notify"`    // on the desktop, too
	Bus       string  `toml:"-"`         // where the desktop is reached, by the environment
}

// consumerVars say where programs that take documents in have their folders.
var consumerVars = []string{"WORKBUDDY_CONFIG_DIR", "WORKBUDDY_DATA_FOLDER_NAME", "CLAUDE_CONFIG_DIR", "CODEBUDDY_CONFIG_DIR"}

// Model is what the user says of one model.
type Model struct {
	Context int `toml:"context"` // window, tokens
	Input   int `toml:"input"`
	Output  int `toml:"output"`
}

// file is config.toml as written by the user.
type file struct {
	CodexHomes []string         `toml:"codex_homes"`
	Targets    []string         `toml:"targets"`
	Models     map[string]Model `toml:"models"`
	Memory     struct {
		Dir string `toml:"dir"`
	} `toml:"memory"`
	Decide struct {
		Reserve int     `toml:"reserve"`
		Comfort float64 `toml:"comfort"`
	} `toml:"decide"`
	Handoff    Handoff    `toml:"handoff"`
	Embeddings Embeddings `toml:"embeddings"`
	Summaries  Summaries  `toml:"summaries"`
	Counting   Counting   `toml:"counting"`
}

// Flags are what the command line says; empty means not said.
type Flags struct {
	Home       string
	CodexHomes []string
	File       string
}

// Env reads one environment variable; os.Getenv in the program.
type Env func(string) string

// Load resolves the settings. Relative paths are taken from the working
// directory. A Codex home that does not exist is not an error here: status
// names it.
func Load(fl Flags, env Env) (Config, error) {
	var c Config
	var err error
	user := userHome(env)
	if user != "" {
		if c.User, err = absolute(user, user); err != nil {
			return c, err
		}
	}
	c.Vars = map[string]string{}
	for _, name := range consumerVars {
		if v := env(name); v != "" {
			c.Vars[name] = v
		}
	}
	home := first(fl.Home, env("SESSION_MIGRATOR_HOME"), "~/.session-migrator")
	if c.Home, err = absolute(home, user); err != nil {
		return c, err
	}
	f, err := c.read(fl.File, user)
	if err != nil {
		return c, err
	}
	homes := fl.CodexHomes
	if len(homes) == 0 {
		homes = nonempty(env("CODEX_HOME"))
	}
	if len(homes) == 0 {
		homes = f.CodexHomes
	}
	if len(homes) == 0 {
		homes = []string{"~/.codex"}
	}
	for _, h := range homes {
		abs, err := absolute(h, user)
		if err != nil {
			return c, err
		}
		c.CodexHomes = append(c.CodexHomes, abs)
	}
	c.Targets, c.Models = f.Targets, f.Models
	c.Reserve, c.Comfort = f.Decide.Reserve, f.Decide.Comfort
	c.Handoff = f.Handoff
	c.Handoff.Bus = env("DBUS_SESSION_BUS_ADDRESS")
	c.Embeddings, c.Summaries, c.Counting = f.Embeddings, f.Summaries, f.Counting
	if err := errors.Join(c.Embeddings.resolve(env, user), c.Summaries.resolve(env, user), c.Counting.resolve(env, user)); err != nil {
		return c, err
	}
	c.MemoryDir, err = absolute(first(f.Memory.Dir, filepath.Join(c.Home, "memory")), user)
	return c, errors.Join(err, c.validate())
}

// read decodes config.toml. Without --config a missing file means defaults.
func (c *Config) read(flag, user string) (f file, err error) {
	if c.File, err = absolute(first(flag, filepath.Join(c.Home, "config.toml")), user); err != nil {
		return f, err
	}
	text, err := os.ReadFile(c.File)
	if errors.Is(err, fs.ErrNotExist) && flag == "" {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read settings: %w", err)
	}
	m, err := toml.Decode(string(text), &f)
	if err != nil {
		if pe, ok := errors.AsType[toml.ParseError](err); ok {
			return f, fmt.Errorf("read settings %s, line %d: %s", c.File, pe.Position.Line, pe.Message)
		}
		return f, fmt.Errorf("read settings %s: %w", c.File, wrongType(string(text), err))
	}
	if kind := m.Type("models"); kind != "" && kind != "Hash" { // the decoder takes anything for an empty map
		return f, fmt.Errorf("read settings %s: %s", c.File, modelsTable)
	}
	if unknown := m.Undecoded(); len(unknown) > 0 {
		more := ""
		if name := unknown[0][len(unknown[0])-1]; name == "api_key" || name == "key" {
			more = keysElsewhere + "; "
		}
		return f, fmt.Errorf("read settings %s: unknown key %q; %sknown are codex_homes, targets, models.NAME.{context,input,output}, memory.dir, decide.{reserve,comfort}, handoff.{threshold,notify}, %s, %s, %s", c.File, unknown[0].String(), more, countingKeys, summaryKeys, embeddingKeys)
	}
	return f, nil
}

// wrongType says what the first setting of a wrong type should be, in the words
// of the file. The decoder's error speaks of Go's types; it is given where no
// setting is found that it can be about.
func wrongType(text string, err error) error {
	var all map[string]any
	if _, mapErr := toml.Decode(text, &all); mapErr != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if wrong := wrongIn(key, all[key]); wrong != "" {
			return errors.New(wrong)
		}
	}
	return err
}

const modelsTable = "models is of a wrong type; write [models.NAME] and its settings below it"

func wrongIn(key string, v any) string {
	switch key {
	case "codex_homes", "targets":
		return wrongList(key, v)
	case "memory":
		return wrongTable(key, v, func(name string, v any) bool { _, ok := v.(string); return ok || name != "dir" }, `a folder in quotes: "~/notes"`)
	case "decide":
		if wrong := wrongTable(key, v, func(name string, v any) bool { _, ok := v.(int64); return ok || name != "reserve" }, "a whole number of tokens"); wrong != "" {
			return wrong
		}
		return wrongTable(key, v, func(name string, v any) bool { return isNumber(v) || name != "comfort" }, "a share such as 0.6")
	case "handoff":
		if wrong := wrongTable(key, v, func(name string, v any) bool { return isNumber(v) || name != "threshold" }, "a share such as 0.8"); wrong != "" {
			return wrong
		}
		return wrongTable(key, v, func(name string, v any) bool { _, ok := v.(bool); return ok || name != "notify" }, "true or false, without quotes")
	case "summaries":
		return wrongSummaries(key, v)
	case "counting":
		return wrongCounting(key, v)
	case "embeddings":
		return wrongEmbeddings(key, v)
	case "models":
		models, ok := v.(map[string]any)
		if !ok {
			return modelsTable
		}
		for _, name := range slices.Sorted(maps.Keys(models)) {
			if wrong := wrongTable("models."+name, models[name], func(_ string, v any) bool { _, ok := v.(int64); return ok }, "a whole number of tokens"); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

func wrongList(key string, v any) string {
	list, ok := v.([]any)
	for _, e := range list {
		if _, text := e.(string); !text {
			ok = false
		}
	}
	if ok {
		return ""
	}
	return key + ` is of a wrong type; give a list of texts in quotes: ["one", "two"]`
}

// wrongTable names the first entry of a table that isn't what it should be.
func wrongTable(key string, v any, fits func(name string, v any) bool, want string) string {
	table, ok := v.(map[string]any)
	if !ok {
		return key + " is of a wrong type; write [" + key + "] and its settings below it"
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if !fits(name, table[name]) {
			return key + "." + name + " is of a wrong type; give " + want
		}
	}
	return ""
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

func (c *Config) validate() error {
	if c.Comfort < 0 || c.Comfort > 1 {
		return fmt.Errorf("settings %s: decide.comfort is %v; give a share between 0 and 1", c.File, c.Comfort)
	}
	if t := c.Handoff.Threshold; t < 0 || t > 1 || math.IsNaN(t) {
		return fmt.Errorf("settings %s: handoff.threshold is %v; give a share between 0 and 1", c.File, c.Handoff.Threshold)
	}
	if c.Reserve < 0 {
		return fmt.Errorf("settings %s: decide.reserve is %d; give a number of tokens", c.File, c.Reserve)
	}
	if wrong := c.Embeddings.validate(); wrong != "" {
		return fmt.Errorf("settings %s: %s", c.File, wrong)
	}
	if wrong := cmp.Or(c.Summaries.validate(), c.Counting.validate()); wrong != "" {
		return fmt.Errorf("settings %s: %s", c.File, wrong)
	}
	for name, m := range c.Models {
		if m.Context < 256 || m.Context > 100_000_000 {
			return fmt.Errorf("settings %s: models.%q.context is %d; give the window in tokens", c.File, name, m.Context)
		}
	}
	return nil
}

// DB is the path of the cache.
func (c Config) DB() string { return filepath.Join(c.Home, "session-migrator.db") }

// Search is where the search index lies.
func (c Config) Search() string { return filepath.Join(c.Home, "search.db") }

// Vectors is where the vectors for search lie, if there are any.
func (c Config) Vectors() string { return filepath.Join(c.Home, "vectors.db") }

// Vocabularies is the folder of the vocabularies that the user imported.
func (c Config) Vocabularies() string { return filepath.Join(c.Home, "vocabularies") }

// Spool is where summaries wait that agents wrote, for the daemon to take them in.
func (c Config) Spool() string { return filepath.Join(c.Home, "spool") }

// Run is the folder of the lock and of what the daemon says of itself.
func (c Config) Run() string { return filepath.Join(c.Home, "run") }

// ErrNoUser says that a path is relative to the user's home folder and that
// nothing tells which that is.
var ErrNoUser = errors.New("HOME is not set")

// userHome is the folder of the user, by the environment as Codex itself
// looks for it; empty if it says nothing.
func userHome(env Env) string {
	names := []string{"HOME", "USERPROFILE"}
	if runtime.GOOS == "windows" {
		names = []string{"USERPROFILE", "HOME"}
	}
	for _, n := range names {
		if v := env(n); v != "" {
			return v
		}
	}
	return ""
}

// absolute expands a leading ~ and makes the path absolute.
func absolute(p, user string) (string, error) {
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`) {
		if user == "" {
			return "", fmt.Errorf("find %s: %w", p, ErrNoUser)
		}
		p = filepath.Join(user, p[1:])
	}
	abs, err := filepath.Abs(p)
	if err != nil {
		return "", fmt.Errorf("resolve path %q: %w", p, err)
	}
	return abs, nil
}

func first(vs ...string) string {
	for _, v := range vs {
		if v != "" {
			return v
		}
	}
	return ""
}

func nonempty(vs ...string) []string {
	var out []string
	for _, v := range vs {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}
