package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// part is something of others that is in our programs.
type part struct {
	name, version string
	licence       string // SPDX
	text          string
}

func (p part) title() string { return strings.TrimSpace(p.name + " " + p.version) }

// known is what licences are told by. A text may hold several.
func known() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"Apache-2.0":   regexp.MustCompile(`Apache License,?\s+Version 2\.0`),
		"MIT":          regexp.MustCompile(`Permission is hereby granted, free of charge, to any\s+person obtaining a\s+copy`),
		"ISC":          regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute this software for any`),
		"BSD-3-Clause": regexp.MustCompile(`Redistribution and use in source and binary forms[\s\S]*(Neither the names?|The names? of)`),
		"BSD-2-Clause": regexp.MustCompile(`Redistribution and use in source and binary forms`),
		"MPL-2.0":      regexp.MustCompile(`Mozilla Public License,? [Vv]ersion 2\.0`),
		"Zlib":         regexp.MustCompile(`The origin of this software must not be misrepresented`),
		"Unlicense":    regexp.MustCompile(`This is free and unencumbered software`),
		"GPL":          regexp.MustCompile(`GNU (LESSER |AFFERO |Lesser )?(GENERAL|General) (PUBLIC|Public)`),
	}
}

// mayBeIn is what programs under MIT may be given out with, its text added.
var mayBeIn = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Unlicense", "Zlib"}

// licenceOf names the licences of a text; it refuses texts that it doesn't
// know, and licences that ask for more than to be named.
func licenceOf(text string) (string, error) {
	text = strings.Join(strings.Fields(text), " ")
	var found []string
	for id, is := range known() {
		if is.MatchString(text) {
			found = append(found, id)
		}
	}
	if slices.Contains(found, "BSD-3-Clause") {
		found = slices.DeleteFunc(found, func(id string) bool { return id == "BSD-2-Clause" })
	}
	slices.Sort(found)
	if len(found) == 0 {
		return "", errors.New("a licence that is not known")
	}
	for _, id := range found {
		if !slices.Contains(mayBeIn, id) {
			return "", fmt.Errorf("%s, which is not among those we give out", id)
		}
	}
	return strings.Join(found, " AND "), nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense)([-.].*)?$`)

// moduleParts reads the licence files of modules: path to version and folder.
func moduleParts(modules map[string][2]string) ([]part, error) {
	var out []part
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		version, dir := modules[name][0], modules[name][1]
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("read the folder of %s: %w", name, err)
		}
		var texts, own []string
		for _, f := range files {
			if f.IsDir() || !licenceFile.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
				continue
			}
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				return nil, fmt.Errorf("read a licence: %w", err)
			}
			texts = append(texts, strings.TrimSpace(string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))))
			// What a module brings from others may also be what only its tests need;
			// what is in programs of it is a module of its own, or permissive.
			if !strings.Contains(f.Name(), "3RD-PARTY") {
				own = append(own, texts[len(texts)-1])
			}
		}
		id, err := licenceOf(strings.Join(own, "\n\n"))
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %s in %s has %w", name, version, dir, err))
			continue
		}
		out = append(out, part{name, version, id, strings.Join(texts, "\n\n")})
	}
	return out, errors.Join(faults...)
}

// modulesOf gives the modules that Go recorded in programs.
func modulesOf(programs []string) (map[string][2]string, error) {
	out := map[string][2]string{}
	for _, p := range programs {
		info, err := buildinfo.ReadFile(p)
		if err != nil {
			return nil, fmt.Errorf("read what %s was built from: %w", p, err)
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			out[m.Path] = [2]string{m.Version, ""}
		}
	}
	for name, m := range out {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", name).Output() //nolint:gosec,noctx // what our own programs name
		if err != nil {
			return nil, fmt.Errorf("find the folder of %s: %w", name, err)
		}
		out[name] = [2]string{m[0], strings.TrimSpace(string(dir))}
	}
	return out, nil
}

// partsBeside are in our programs without being a module.
func partsBeside(libc string) ([]part, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output() //nolint:noctx // answers at once
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("read Go's licence: %w", err)
	}
	out := []part{
		{"Go and its standard library", runtime.Version(), "BSD-3-Clause", strings.TrimSpace(string(text))},
		{"SQLite", "", "blessing", "SQLite is in the public domain: https://sqlite.org/copyright.html"},
		{"vocabularies o200k_base, cl100k_base and p50k_base", "", "MIT", "From tiktoken, Copyright (c) 2022 OpenAI, Shantanu Jain.\n\n" + mitText},
		{"figures of models from models.dev", "", "MIT", "Copyright (c) 2025 models.dev.\n\n" + mitText},
	}
	if libc == "" {
		return out, nil
	}
	lgpl, err := os.ReadFile(libc)
	if err != nil {
		return nil, fmt.Errorf("read the C library's licence: %w", err)
	}
	return append(out,
		part{"GNU C Library (Linux programs)", "", "LGPL-2.1-or-later", "Linked in unchanged, from Debian's package libc6-dev. The whole source of this program is published with the script that builds it\n(.ci/release), so that it can be linked with another version of that library.\n\n" + strings.TrimSpace(string(lgpl))},
		part{"mingw-w64 runtime, winpthreads and libgcc (Windows program for amd64)", "", "ZPL-2.1 AND MIT AND GPL-3.0-or-later WITH GCC-exception-3.1", mingwText}), nil
}

const mitText = `Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.`

const mingwText = `Copyright (c) 2009-2026 by the mingw-w64 project and its contributors:
https://www.mingw-w64.org. libgcc comes with the GCC Runtime Library Exception,
which lets programs built by GCC be given out under any licence.

winpthreads: Copyright (c) 2011 mingw-w64 project, in part Copyright (C) 2010
Lockless Inc.

` + mitText

// writeNotices makes [2].
func writeNotices(o options, programs []string) error {
	modules, err := modulesOf(programs)
	if err != nil {
		return err
	}
	parts, err := moduleParts(modules)
	if err != nil {
		return err
	}
	beside, err := partsBeside(o.libc)
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, noticesText(append(parts, beside...)), 0o644) //nolint:gosec // published
}

func noticesText(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("session-migrator is under the MIT licence, see LICENSE. These parts of others are in it, or in some of its programs.\n\n")
	for _, p := range parts {
		fmt.Fprintf(&b, "%s: %s\n", p.title(), p.licence)
	}
	for _, p := range parts {
		line := strings.Repeat("=", 78)
		fmt.Fprintf(&b, "\n%s\n%s (%s)\n%s\n\n%s\n", line, p.title(), p.licence, line, p.text)
	}
	return b.Bytes()
}
