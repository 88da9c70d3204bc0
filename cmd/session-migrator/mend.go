package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/session-migrator/session-migrator/daemon/config"
)

// explained gives an error of a run that writes its next step, if what is
// wrong can be seen in its folders.
func explained(c config.Config, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*hintError](err); ok {
		return err
	}
	if _, hint := classify(err); hint != "" {
		return err
	}
	if hint := mend(c, err); hint != "" {
		return hinted(err, hint)
	}
	return err
}

// mend says how to put right what lies in the way of writing; empty if nothing
// is seen to.
func mend(c config.Config, err error) string {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		if p, ok := errors.AsType[*fs.PathError](err); ok && within(c.Home, p.Path) && !within(c.MemoryDir, p.Path) {
			return "see that you may write to " + c.Home + " and what is in it, or give another --home DIR"
		}
		return "see that you may write to " + c.MemoryDir + " and what is in it, or set memory.dir in " + c.File + " to another folder"
	}
	return mendDrop(c)
}

// mendDrop looks for what a drop folder is refused for.
func mendDrop(c config.Config) string {
	info, err := os.Stat(c.MemoryDir)
	if err != nil {
		return ""
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return "chmod go-w " + shellWord(c.MemoryDir)
	}
	projects := filepath.Join(c.MemoryDir, "projects")
	if link, err := os.Lstat(projects); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		return projects + " is a link: put the folder itself there, or set memory.dir in " + c.File + " to where the files shall be"
	}
	return ""
}

// shellWord quotes a path as far as a shell needs it.
func shellWord(path string) string {
	if strings.ContainsAny(path, " \t'\"$`\\*?[]()&;|<>!#~") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// apart refuses folders of ours inside a Codex home: nothing is written there.
func apart(c config.Config) error {
	for _, home := range c.CodexHomes {
		if within(home, c.Home) {
			return hinted(usageError{fmt.Errorf("the data folder %s lies in the Codex home %s, where nothing is written", c.Home, home)},
				"give a folder elsewhere: --home DIR or SESSION_MIGRATOR_HOME")
		}
		if within(home, c.MemoryDir) {
			return hinted(usageError{fmt.Errorf("the drop folder %s lies in the Codex home %s, where nothing is written", c.MemoryDir, home)},
				"set memory.dir in "+c.File+" to a folder elsewhere")
		}
	}
	return nil
}

// within tells whether a path is a folder or lies in it, links followed.
func within(dir, path string) bool {
	rel, err := filepath.Rel(followed(dir), followed(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// followed resolves the links of as much of a path as is there.
func followed(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(followed(dir), filepath.Base(path))
}
