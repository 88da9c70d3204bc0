package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
)

// Every process waits for what the packages do before main, and agents start a
// server each: patterns are compiled when they are asked for.
func TestNoPatternIsCompiledAtTheStart(t *testing.T) {
	packages := linkedBy("cmd/session-migrator")
	for rel := range sources(t) {
		if !slices.Contains(packages, filepath.ToSlash(filepath.Dir(rel))) {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, filepath.Join("..", "..", rel), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range compiledAtStart(f) {
			t.Errorf("%s: compiles a pattern before main: use pattern.Lazy", fset.Position(call))
		}
	}
}

// linkedBy lists the packages of the program that root begins, by the table.
func linkedBy(root string) []string {
	out := []string{root}
	for i := 0; i < len(out); i++ {
		for _, p := range allowed[out[i]] {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// compiledAtStart finds the calls that compile a pattern in a variable of the
// package or in init; what a function's body does waits for the function's call.
func compiledAtStart(f *ast.File) (at []token.Pos) {
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "regexp" && slices.Contains([]string{"Compile", "CompilePOSIX", "MustCompile", "MustCompilePOSIX"}, n.Sel.Name) {
					at = append(at, n.Pos())
				}
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			look(d)
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" {
				look(d.Body)
			}
		}
	}
	return at
}

func TestPatternsCompiledAtTheStartAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"var a = regexp.MustCompile(`a`)":                                               1,
		"var a, b = regexp.MustCompile(`a`), []*regexp.Regexp{regexp.MustCompile(`b`)}": 2,
		"func init() { a = regexp.MustCompile(`a`) }":                                   1,
		"var a = func() *regexp.Regexp { return regexp.MustCompile(`a`) }":              0,
		"func f() { regexp.MustCompile(`a`) }":                                          0,
		"var a = pattern.Lazy(`a`)":                                                     0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(compiledAtStart(f)); got != want {
			t.Errorf("%s: %d found, want %d", text, got, want)
		}
	}
}

// What lets go of the first collection's object also sets how often more come.
func TestServerCollectsOftenFromTheFirstCollectionOn(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	now := func() uint64 {
		metrics.Read(percent)
		return percent[0].Value.Uint64()
	}
	collectOften()
	if got := now(); got != 100 {
		t.Errorf("%d per cent before any collection, want the runtime's 100", got)
	}
	for range 1000 { // cleanups run some time after a collection
		runtime.GC()
		if now() == mcpGC {
			return
		}
	}
	t.Errorf("%d per cent after a collection, want %d", now(), mcpGC)
}
