package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// The part of CycloneDX 1.6 that is used. https://cyclonedx.org/docs/1.6/json/
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Licences   []licence  `json:"licenses,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type licence struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeSBOM makes [3]: the modules that Go recorded in the program itself, and
// what is in it without being a module.
func writeSBOM(o options, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read what %s was built from: %w", program, err)
	}
	modules, err := modulesOf([]string{program})
	if err != nil {
		return err
	}
	parts, err := moduleParts(modules)
	if err != nil {
		return err
	}
	licences := map[string]string{}
	for _, p := range parts {
		licences[p.name] = p.licence
	}
	sum, err := sumOf(program)
	if err != nil {
		return err
	}
	sqlite, err := sqliteIn(modules)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(bomOf(o, info, licences, sum, sqlite), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(o.out, append(text, '\n'), 0o644); err != nil { //nolint:gosec // published
		return fmt.Errorf("write %s: %w", filepath.Base(o.out), err)
	}
	return nil
}

// sqliteIn gives the version of SQLite that a driver brings: faults are found in
// that, not in the driver.
func sqliteIn(modules map[string][2]string) (string, error) {
	for driver, file := range map[string]string{"github.com/mattn/go-sqlite3": "sqlite3-binding.h", "modernc.org/sqlite": "lib/sqlite.go"} {
		m, ok := modules[driver]
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m[1], filepath.FromSlash(file)))
		if err != nil {
			return "", fmt.Errorf("read SQLite's version: %w", err)
		}
		if v := sqliteVersion.FindSubmatch(text); v != nil {
			return string(v[1]), nil
		}
	}
	return "", errors.New("no driver of SQLite tells its version")
}

var sqliteVersion = regexp.MustCompile(`SQLITE_VERSION\s+(?:= )?"(3\.[0-9.]+)"`)

func bomOf(o options, info *debug.BuildInfo, licences map[string]string, sum, sqlite string) bom {
	goes := strings.TrimPrefix(info.GoVersion, "go")
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{
		Timestamp: o.time().Format(time.RFC3339),
		Component: component{Type: "application", Ref: "session-migrator", Name: "session-migrator", Version: o.version,
			PURL:     "pkg:golang/" + info.Main.Path + "@v" + o.version,
			Hashes:   []hash{{"SHA-256", sum}},
			Licences: []licence{{"MIT"}}},
	}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" || s.Key == "-tags" {
			b.Metadata.Component.Properties = append(b.Metadata.Component.Properties, property{"go:" + strings.TrimPrefix(s.Key, "-"), s.Value})
		}
	}
	std, lite := "pkg:golang/std@"+goes, "pkg:generic/sqlite@"+sqlite
	b.Components = append(b.Components,
		component{Type: "library", Ref: std, Name: "std", Version: goes, PURL: std, Licences: []licence{{"BSD-3-Clause"}}},
		component{Type: "library", Ref: lite, Name: "sqlite", Version: sqlite, PURL: lite, Licences: []licence{{"blessing"}}})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl, Licences: []licence{{licences[m.Path]}}}
		// Go's sum is of the list of the module's files.
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}, {"go:sum:sha256", hex.EncodeToString(raw)}}
		}
		b.Components = append(b.Components, c)
	}
	return b
}
