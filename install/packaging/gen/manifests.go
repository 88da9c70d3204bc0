package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

const repository = "https://github.com/session-migrator/session-migrator"

// release is what the templates are filled from.
type release struct {
	Version string // without v
	Date    string
	dist    string
}

// URL is where a file of the release is fetched from.
func (r release) URL(file string) string {
	return repository + "/releases/download/v" + r.Version + "/" + file
}

// Archive names the archive of a system.
func (r release) Archive(system, ending string) string {
	return "session-migrator_" + r.Version + "_" + system + "." + ending
}

// Sum is the SHA-256 of a file of the release, which must be there.
func (r release) Sum(file string) (string, error) { return sumOf(filepath.Join(r.dist, file)) }

// Upper is for the sums that winget takes.
func (r release) Upper(s string) string { return strings.ToUpper(s) }

// manifestNames maps templates to the files made of them.
func manifestNames() map[string]string {
	const winget = "winget/SessionMigrator.SessionMigrator"
	return map[string]string{
		"homebrew.rb":           "homebrew/session-migrator.rb",
		"scoop.json":            "scoop/session-migrator.json",
		"winget-version.yaml":   winget + ".yaml",
		"winget-installer.yaml": winget + ".installer.yaml",
		"winget-locale.yaml":    winget + ".locale.en-US.yaml",
	}
}

// writeManifests makes [4] from the archives in a folder.
func writeManifests(o options, dist string) error {
	r := release{Version: o.version, Date: o.time().Format("2006-01-02"), dist: dist}
	for from, to := range manifestNames() {
		t, err := template.New(from).Option("missingkey=error").ParseFS(templates, "templates/"+from)
		if err != nil {
			return fmt.Errorf("read template %s: %w", from, err)
		}
		var b strings.Builder
		if err := t.Execute(&b, r); err != nil {
			return fmt.Errorf("fill template %s: %w", from, err)
		}
		path := filepath.Join(o.out, filepath.FromSlash(to))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // published
			return err
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil { //nolint:gosec // published
			return err
		}
	}
	return nil
}
