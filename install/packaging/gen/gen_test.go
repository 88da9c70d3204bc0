package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestArchivesAreTheSameWhereverTheyAreMade(t *testing.T) {
	for _, ending := range []string{".tar.gz", ".zip"} {
		var made [2][]byte
		for i, modes := range [][2]os.FileMode{{0o700, 0o600}, {0o755, 0o664}} {
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "a"+ending)
			names := []string{"program", "man/a.1", "README.md"}
			if i == 1 {
				slices.Reverse(names)
			}
			for _, n := range names {
				mode := modes[1]
				if n == "program" {
					mode = modes[0]
				}
				write(t, filepath.Join(dir, n), strings.Repeat(n, 99), mode)
				at := time.Unix(int64(1e9+i*1e6), 0)
				if err := os.Chtimes(filepath.Join(dir, n), at, at); err != nil {
					t.Fatal(err)
				}
			}
			if err := run([]string{"pack", "-epoch", "1796000000", "-prefix", "top", "-out", out, dir}); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			made[i] = b
		}
		if !bytes.Equal(made[0], made[1]) {
			t.Errorf("%s: two archives of the same files differ", ending)
		}
		want := []string{"top/README.md -rw-r--r--", "top/man/a.1 -rw-r--r--", "top/program -rwxr-xr-x"}
		if got := listed(t, made[0], ending); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", ending, got, want)
		}
	}
}

func listed(t *testing.T, b []byte, ending string) (out []string) {
	t.Helper()
	if ending == ".zip" {
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			out = append(out, f.Name+" "+f.Mode().String())
		}
		return out
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || !h.ModTime.Equal(time.Unix(1796000000, 0)) {
			t.Errorf("%s is %d's, of %s", h.Name, h.Uid, h.ModTime)
		}
		out = append(out, h.Name+" "+h.FileInfo().Mode().String())
	}
}

func TestLicencesAreKnownByTheirText(t *testing.T) {
	const bsd = "Redistribution and use in source and binary\nforms, with or without modification"
	for text, want := range map[string]string{
		mitText:                                 "MIT",
		bsd:                                     "BSD-2-Clause",
		bsd + "\n * Neither the name of Google": "BSD-3-Clause",
		"Apache License\n   Version 2.0, January 2004\n" + mitText:   "Apache-2.0 AND MIT",
		"Licensed under the Apache License, Version 2.0":             "Apache-2.0",
		"GNU GENERAL PUBLIC LICENSE":                                 "",
		"Mozilla Public License, version 2.0":                        "",
		"1. The origin of this software must not be\nmisrepresented": "Zlib",
		"all rights reserved":                                        "",
		mitText + "\nGNU Lesser General Public License":              "",
	} {
		if got, err := licenceOf(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%.40q: %q, %v; want %q", text, got, err, want)
		}
	}
}

// All modules of all programs that are given out, without building them.
func TestEveryDependencyHasALicence(t *testing.T) {
	if testing.Short() {
		t.Skip("asks go list for each system")
	}
	modules := map[string][2]string{}
	for _, s := range []string{"linux amd64 1 sqlite_fts5", "windows amd64 1 sqlite_fts5", "darwin arm64 0 purego", "windows arm64 0 purego"} {
		f := strings.Fields(s)
		c := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", f[3], "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "../../../cmd/session-migrator")
		c.Env = append(os.Environ(), "GOOS="+f[0], "GOARCH="+f[1], "CGO_ENABLED="+f[2])
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		for line := range strings.Lines(string(out)) {
			if m := strings.SplitN(strings.TrimSpace(line), " ", 3); len(m) == 3 {
				modules[m[0]] = [2]string{m[1], m[2]}
			}
		}
	}
	parts, err := moduleParts(modules)
	if err != nil {
		t.Fatal(err)
	}
	beside, err := partsBeside("")
	if err != nil {
		t.Fatal(err)
	}
	text := string(noticesText(append(parts, beside...)))
	for _, want := range []string{"github.com/spf13/cobra", "github.com/mattn/go-sqlite3", "modernc.org/sqlite", "Copyright (c) 2014 Yasuhiro Matsumoto", "Go and its standard library", "OpenAI"} {
		if !strings.Contains(text, want) {
			t.Errorf("the notices don't name %s", want)
		}
	}
}

func TestManifestsNameWhatIsThere(t *testing.T) {
	dist, out := t.TempDir(), t.TempDir()
	for _, f := range []string{"linux_amd64.tar.gz", "linux_arm64.tar.gz", "darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip"} {
		write(t, filepath.Join(dist, "session-migrator_1.2.3_"+f), f, 0o600)
	}
	if err := run([]string{"manifests", "-version", "1.2.3", "-epoch", "1796000000", "-out", out, dist}); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"sums", dist}); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range manifestNames() {
		b, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, sum := range regexp.MustCompile(`\b[0-9a-fA-F]{64}\b`).FindAllString(text, -1) {
			if !strings.Contains(string(sums), strings.ToLower(sum)) {
				t.Errorf("%s: %s is no file's sum", name, sum)
			}
		}
		for _, url := range regexp.MustCompile(`https://\S+/releases/download/v1[^"\s]+`).FindAllString(text, -1) {
			if file := url[strings.LastIndex(url, "/")+1:]; !strings.Contains(string(sums), file) {
				t.Errorf("%s: %s is not made", name, file)
			}
		}
		var v any
		switch filepath.Ext(name) {
		case ".json":
			err = json.Unmarshal(b, &v)
		case ".yaml":
			err = yaml.Unmarshal(b, &v)
		}
		if err != nil || strings.Contains(text, "{{") || !strings.Contains(text, "1.2.3") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if err := os.Remove(filepath.Join(dist, "session-migrator_1.2.3_darwin_arm64.tar.gz")); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"manifests", "-version", "1.2.3", "-out", out, dist}); err == nil {
		t.Error("manifests were made without the archive for macOS")
	}
}

func TestSBOMListsTheModules(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "example.com/a", Version: "v1.0.0", Sum: "h1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))},
		{Path: "example.com/b", Version: "v2.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v3.0.0"}}},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-ldflags", Value: "long"}}}
	b := bomOf(options{version: "1.2.3", epoch: 1796000000}, info, map[string]string{"example.com/a": "MIT", "example.com/c": "ISC"}, "5a", "3.54.1")
	var got []string
	for _, c := range b.Components {
		got = append(got, c.PURL+" "+c.Licences[0].Expression)
	}
	want := []string{"pkg:golang/std@1.26.8 BSD-3-Clause", "pkg:generic/sqlite@3.54.1 blessing", "pkg:golang/example.com/a@v1.0.0 MIT", "pkg:golang/example.com/c@v3.0.0 ISC"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if p := b.Components[2].Properties; len(p) != 2 || p[1].Value != strings.Repeat("0", 64) {
		t.Errorf("%v", p)
	}
	if m := b.Metadata; m.Timestamp != "2026-11-30T00:53:20Z" || len(m.Component.Properties) != 1 || m.Component.Version != "1.2.3" {
		t.Errorf("%+v", m)
	}
}

// The steps of others that run with our rights are pinned, and no job may do
// more than it says.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob("../../../.github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			On          any
			Permissions map[string]string
			Jobs        map[string]struct {
				RunsOn string `yaml:"runs-on"`
				Limit  int    `yaml:"timeout-minutes"`
				Steps  []struct{ Uses, Run string }
			}
		}
		if err := yaml.Unmarshal(b, &w); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if w.On == nil || len(w.Jobs) == 0 || len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s: %+v", file, w)
		}
		for name, j := range w.Jobs {
			if j.RunsOn == "" || strings.HasSuffix(j.RunsOn, "latest") || j.Limit == 0 || len(j.Steps) == 0 {
				t.Errorf("%s: job %s: %+v", file, name, j)
			}
			for _, s := range j.Steps {
				if s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+@v\d+$`).MatchString(s.Uses) || (s.Uses == "") == (s.Run == "") {
					t.Errorf("%s: job %s: step %+v", file, name, s)
				}
			}
		}
	}
}
