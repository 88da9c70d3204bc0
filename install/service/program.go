package service

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Places is what is known of where this program lies.
type Places struct {
	Executable string   // as the system says
	Invoked    string   // as it was called, absolute; empty: not known
	OnPath     string   // what a shell would start by our name; empty: nothing
	Temp       []string // folders for temporary files
}

// Program gives the path that the service starts. A link that leads to this
// program is kept, for that is what a package manager moves at an upgrade: the
// folder of one version (Homebrew's Cellar) is gone soon after. ErrRefused if
// the program lies where nothing stays.
func Program(p Places) (string, error) {
	if strings.HasSuffix(p.Executable, " (deleted)") {
		return "", fmt.Errorf("%w: this program was replaced or deleted while it ran", ErrRefused)
	}
	if why := moving(p.Executable, p.Temp); why != "" {
		return p.Executable, fmt.Errorf("%w: %s %s", ErrRefused, p.Executable, why)
	}
	real, err := filepath.EvalSymlinks(p.Executable)
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	for _, link := range []string{p.Invoked, p.OnPath} {
		if link == "" || moving(link, p.Temp) != "" || versioned(link) {
			continue
		}
		if to, err := filepath.EvalSymlinks(link); err == nil && to == real {
			return link, nil
		}
	}
	return p.Executable, nil
}

// moving says why a program does not stay where it is; empty if it does.
func moving(path string, temp []string) string {
	slashed := filepath.ToSlash(path)
	switch {
	case strings.Contains(slashed, "/go-build"):
		return "was made by go run and is deleted when it ends"
	case strings.Contains(slashed, "/AppTranslocation/"):
		return "is a copy that macOS made for this start alone"
	}
	for _, dir := range temp {
		if inside(path, dir) {
			return "lies in the folder for temporary files " + dir
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil && inside(path, real) {
			return "lies in the folder for temporary files " + dir
		}
	}
	return ""
}

func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// versioned tells whether a path names one version, which an upgrade leaves.
func versioned(path string) bool {
	slashed := filepath.ToSlash(path)
	for _, part := range []string{"/Cellar/", "/nix/store/", "/gnu/store/"} {
		if strings.Contains(slashed, part) {
			return true
		}
	}
	return false
}

// Stays tells whether there is such a program, for one that was named.
func Stays(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	if !st.Mode().IsRegular() || executableMode && st.Mode()&0o111 == 0 {
		return fmt.Errorf("%w: %s is no program", ErrRefused, path)
	}
	return nil
}
