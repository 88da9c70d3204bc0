package sink

import (
	"os"
	"path/filepath"
	"strings"
)

// gitRoot finds the top of the work tree that dir lies in: the nearest folder
// upward with a .git.
func gitRoot(dir string) (string, bool) {
	if !filepath.IsAbs(dir) {
		return "", false
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		if filepath.Dir(dir) == dir {
			return "", false
		}
	}
}

// upward gives dir and its parents up to the top of its work tree; dir alone
// if it is in none: what lies above isn't of the same project.
func upward(dir string) []string {
	if !filepath.IsAbs(dir) {
		return nil
	}
	dir = filepath.Clean(dir)
	out := []string{dir}
	top, ok := gitRoot(dir)
	for ok && dir != top {
		dir = filepath.Dir(dir)
		out = append(out, dir)
	}
	return out
}

// commonDir is the .git folder that a work tree shares with those beside it.
func commonDir(top string) string {
	dot := filepath.Join(top, ".git")
	own, ok := strings.CutPrefix(firstLine(dot), "gitdir: ")
	if !ok {
		return dot
	}
	if !filepath.IsAbs(own) {
		own = filepath.Join(top, own)
	}
	common := firstLine(filepath.Join(own, "commondir"))
	switch {
	case common == "":
		return filepath.Clean(own)
	case filepath.IsAbs(common):
		return filepath.Clean(common)
	}
	return filepath.Join(own, common)
}

// mainRoot is the top of the work tree that a repository began with, which all
// its work trees share; dir itself outside of a repository.
func mainRoot(dir string) string {
	top, ok := gitRoot(dir)
	if !ok {
		return filepath.Clean(dir)
	}
	if common := commonDir(top); filepath.Base(common) == ".git" {
		return filepath.Dir(common)
	}
	return top // a bare repository's, or a submodule's
}

// firstLine reads the one line of git's small files; empty if there is none.
func firstLine(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return ""
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}
