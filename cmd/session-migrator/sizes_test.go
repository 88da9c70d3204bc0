package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a reader can hold in mind at once. The answer to a red test is a split
// along a seam.
const (
	maxFileLines     = 500
	maxFunctionLines = 100
	maxExported      = 25
)

func TestSizesStayReadable(t *testing.T) {
	exported := map[string]int{}
	for rel := range sources(t) {
		path := filepath.Join("..", "..", rel)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", rel, n, maxFileLines)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			exported[filepath.Dir(rel)] += exports(d)
			if fn, ok := d.(*ast.FuncDecl); ok {
				if n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1; n > maxFunctionLines {
					t.Errorf("%s: %s has %d lines, more than %d", rel, fn.Name.Name, n, maxFunctionLines)
				}
			}
		}
	}
	for pkg, n := range exported {
		if n > maxExported {
			t.Errorf("%s exports %d types and functions, more than %d", pkg, n, maxExported)
		}
	}
}

// exports counts the types and plain functions a declaration exports; methods
// belong to their type.
func exports(d ast.Decl) (n int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			n++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() {
				n++
			}
		}
	}
	return n
}
