package transcript

import "strings"

// ShownPath gives a folder as people write it: Windows' extended prefixes
// (\\?\C:\…, \\?\UNC\server\…) removed, the drive letter in upper case, one
// kind of slash. Pure string logic: a Windows rollout reads the same on Linux.
func ShownPath(p string) string {
	const unc, ext = `\\?\unc\`, `\\?\`
	switch {
	case len(p) >= len(unc) && strings.EqualFold(p[:len(unc)], unc):
		p = `\\` + p[len(unc):]
	case strings.HasPrefix(p, ext):
		p = p[len(ext):]
	}
	if windows(p) {
		p = strings.ReplaceAll(p, "/", `\`)
		if p[1] == ':' {
			p = strings.ToUpper(p[:1]) + p[1:]
			if len(p) > 3 {
				p = strings.TrimRight(p, `\`)
			}
			return p
		}
		return strings.TrimRight(p, `\`)
	}
	if len(p) > 1 {
		p = strings.TrimRight(p, "/")
		if p == "" {
			p = "/"
		}
	}
	return p
}

// WorkspaceKey is what two spellings of one folder have in common. Windows
// paths don't tell upper from lower case, others do.
func WorkspaceKey(p string) string {
	p = ShownPath(p)
	if windows(p) {
		return strings.ToLower(strings.ReplaceAll(p, `\`, "/"))
	}
	return p
}

// windows tells a drive or server path from one with a root slash.
func windows(p string) bool {
	if len(p) >= 2 && p[1] == ':' {
		c := p[0] | 0x20
		return 'a' <= c && c <= 'z' && (len(p) == 2 || p[2] == '\\' || p[2] == '/')
	}
	return len(p) > 2 && p[0] == '\\' && p[1] == '\\'
}
