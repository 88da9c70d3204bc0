package reliability_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// said is one call of Fault or Figure in a test.
type said struct {
	row  string // "| 23 |" of the faults or the goals
	goal bool
	pkg  string
	test string
}

// TestPageNamesEveryTest compares docs/reliability.md with the calls in the
// sources: a test that was added, renamed or removed shows.
func TestPageNamesEveryTest(t *testing.T) {
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	faults, goals, ok := strings.Cut(string(page), "\n## Goals\n")
	if !ok {
		t.Fatal("the page has no goals")
	}
	calls, tests := sources(t, root)
	for _, c := range calls {
		part := faults
		if c.goal {
			part = goals
		}
		i := strings.Index(part, "\n"+c.row)
		if i < 0 {
			t.Errorf("the page has no row %s", c.row)
			continue
		}
		line, _, _ := strings.Cut(part[i+1:], "\n")
		if !strings.Contains(line, "`"+c.pkg+"` "+c.test) {
			t.Errorf("%s %s is not in the row %s: run \"make reliability\"", c.pkg, c.test, c.row)
		}
	}
	for _, m := range regexp.MustCompile("`([a-z/-]+)` ((?:Test|Benchmark)[A-Za-z0-9_]+)").FindAllStringSubmatch(string(page), -1) {
		if !tests[m[1]+" "+m[2]] {
			t.Errorf("the page names %s %s, which is no more: run \"make reliability\"", m[1], m[2])
		}
	}
}

// sources finds the calls with a plain number, directly in a test, and all
// tests and benchmarks.
func sources(t *testing.T, root string) (calls []said, tests map[string]bool) {
	t.Helper()
	tests = map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") && !strings.HasPrefix(fn.Name.Name, "Benchmark") {
				continue
			}
			tests[pkg+" "+fn.Name.Name] = true
			if pkg != "daemon/reliability" {
				calls = append(calls, callsIn(fn, pkg)...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return calls, tests
}

func callsIn(fn *ast.FuncDecl, pkg string) (out []said) {
	ast.Inspect(fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) < 3 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Fault" && sel.Sel.Name != "Figure" {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); !ok || x.Name != "reliability" {
			return true
		}
		lit, ok := call.Args[1].(*ast.BasicLit)
		if !ok {
			return true
		}
		if n, err := strconv.Atoi(lit.Value); err == nil {
			out = append(out, said{fmt.Sprintf("| %d |", n), sel.Sel.Name == "Figure", pkg, fn.Name.Name})
		}
		return true
	})
	return out
}
