package choices

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/session-migrator/session-migrator/daemon/config"
)

// Apart tells with an error why no sink may have a folder, absolute: it is, lies
// in, or holds the drop folder, the data folder or a Codex home. Two that write
// to one folder would take each other's files away.
func Apart(c config.Config, dir string) error {
	type taken struct{ what, dir string }
	others := []taken{{"the drop folder", c.MemoryDir}, {"the data folder", c.Home}}
	for _, home := range c.CodexHomes {
		others = append(others, taken{"the Codex home", home})
	}
	for _, o := range others {
		switch {
		case o.dir == "":
		case Holds(o.dir, dir) && Holds(dir, o.dir):
			return fmt.Errorf("%s is %s", dir, o.what)
		case Holds(o.dir, dir):
			return fmt.Errorf("%s lies in %s %s", dir, o.what, o.dir)
		case Holds(dir, o.dir):
			return fmt.Errorf("%s holds %s %s", dir, o.what, o.dir)
		}
	}
	return nil
}

// Holds tells whether a folder is another one or lies above it, both absolute,
// by whatever links and in whatever case they are named. They need not be there.
func Holds(above, dir string) bool {
	above = followed(filepath.Clean(above))
	is, err := os.Stat(above)
	for at := followed(filepath.Clean(dir)); ; at = filepath.Dir(at) {
		if at == above {
			return true
		}
		if err == nil {
			if info, err := os.Stat(at); err == nil && os.SameFile(is, info) {
				return true
			}
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
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
