package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// ProjectDir returns the name of a project's folder: the last element of its
// root, made safe, and the first 8 hex digits of the root's SHA-256.
func ProjectDir(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	base := strings.TrimRight(strings.ReplaceAll(workspace, `\`, "/"), "/")
	base = base[strings.LastIndexByte(base, '/')+1:]
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(base) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			dash = false
		} else {
			dash = true
		}
		if b.Len() >= 40 {
			break
		}
	}
	if b.Len() == 0 {
		b.WriteString("project")
	}
	return b.String() + "-" + hex.EncodeToString(sum[:4])
}

// maxName is what a name may have in bytes, to fit every file system.
const maxName = 100

// checkPath takes projects/<folder>/<file>.md of lower case ASCII. Titles and
// folders of the user never become path elements; this is the second line.
func checkPath(p string) error {
	parts := strings.Split(p, "/")
	if len(parts) != 3 || parts[0] != projectsDir {
		return ErrPath
	}
	for _, err := range []error{checkPart(parts[1]), checkName(parts[2])} {
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPath, err)
		}
	}
	return nil
}

// checkName takes the name of a document's file: lower case ASCII with .md.
func checkName(name string) error {
	if !strings.HasSuffix(name, ".md") {
		return fmt.Errorf("%q is no name of a document", name)
	}
	return checkPart(name)
}

func checkPart(part string) error {
	if len(part) == 0 || len(part) > maxName || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" ||
		part[0] == '.' || part[0] == '-' || strings.Contains(part, "..") || reserved(part) {
		return fmt.Errorf("unsafe name %q", part)
	}
	return nil
}

// reserved tells the names that Windows keeps for devices, whatever follows
// the first dot, and our own.
func reserved(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	switch base {
	case "con", "prn", "aux", "nul", "index", "readme":
		return true
	}
	return len(base) == 4 && (strings.HasPrefix(base, "com") || strings.HasPrefix(base, "lpt")) && base[3] >= '0' && base[3] <= '9'
}

// nameEnd is what a document's name ends with whatever its title is.
func nameEnd(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
