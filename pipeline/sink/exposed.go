package sink

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// maxIgnore bounds what is read of a file with patterns, bytes.
const maxIgnore = 1 << 20

// Exposed tells whether a file at path, absolute, would be taken into a git
// repository by the next "git add": it lies in a work tree and none of the
// tree's own .gitignore files nor .git/info/exclude ignores it. The user's
// global patterns are not read, nor whether git knows the file already.
func Exposed(path string) (repository string, exposed bool) {
	top, ok := gitRoot(filepath.Dir(path))
	if !ok {
		return "", false
	}
	rel, err := filepath.Rel(top, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	parts := strings.Split(filepath.ToSlash(rel), "/")
	rules := ignoreRules(filepath.Join(commonDir(top), "info", "exclude"), "")
	for i := range parts {
		below := strings.Join(parts[:i], "/")
		rules = append(rules, ignoreRules(filepath.Join(top, filepath.FromSlash(below), ".gitignore"), below)...)
		// What lies in an ignored folder can't be taken back in.
		if ignored(rules, strings.Join(parts[:i+1], "/"), i < len(parts)-1) {
			return top, false
		}
	}
	return top, true
}

// ignoreRule is one line of a .gitignore file.
type ignoreRule struct {
	match *regexp.Regexp // of the path below the work tree, slash separated
	dirs  bool           // folders only
	back  bool           // with an exclamation mark: not ignored after all
}

func ignored(rules []ignoreRule, rel string, dir bool) (yes bool) {
	for _, r := range rules {
		if (dir || !r.dirs) && r.match.MatchString(rel) {
			yes = !r.back
		}
	}
	return yes
}

// ignoreRules reads the patterns of a file; base is its folder. What can't be
// read ignores nothing.
func ignoreRules(file, base string) (rules []ignoreRule) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(data) {
		if r, ok := parseIgnore(strings.TrimRight(string(line), "\r\n"), base); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseIgnore(line, base string) (r ignoreRule, ok bool) {
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " ")
	}
	if line == "" || line[0] == '#' {
		return r, false
	}
	line, r.back = strings.CutPrefix(line, "!")
	line, r.dirs = strings.CutSuffix(line, "/")
	prefix := "^"
	if base != "" {
		prefix += regexp.QuoteMeta(base) + "/"
	}
	if strings.Contains(line, "/") {
		line = strings.TrimPrefix(line, "/")
	} else {
		prefix += "(?:.*/)?"
	}
	match, err := regexp.Compile(prefix + globPattern(line) + "$")
	if line == "" || err != nil {
		return r, false
	}
	r.match = match
	return r, true
}

// globPattern turns a pattern of git into a regular expression.
func globPattern(glob string) string {
	var b strings.Builder
	for glob != "" {
		switch {
		case strings.HasPrefix(glob, "**/"):
			b.WriteString("(?:.*/)?")
			glob = glob[3:]
			continue
		case glob == "**":
			b.WriteString(".*")
			return b.String()
		case glob[0] == '*':
			b.WriteString("[^/]*")
		case glob[0] == '?':
			b.WriteString("[^/]")
		case glob[0] == '[' && strings.IndexByte(glob[1:], ']') > 0:
			end := 1 + strings.IndexByte(glob[1:], ']')
			b.WriteString("[" + strings.NewReplacer("!", "^", `\`, `\\`).Replace(glob[1:2]) + strings.ReplaceAll(glob[2:end], `\`, `\\`) + "]")
			glob = glob[end:]
		case glob[0] == '\\' && len(glob) > 1:
			glob = glob[1:]
			b.WriteString(regexp.QuoteMeta(glob[:1]))
		default:
			b.WriteString(regexp.QuoteMeta(glob[:1]))
		}
		glob = glob[1:]
	}
	return b.String()
}
