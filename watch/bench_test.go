package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
)

// bigTree makes a home of n rollouts, about 20 a day.
func bigTree(b *testing.B, n int) string {
	home := realTemp(b)
	for i := range n {
		d := i / 20
		put(b, filepath.Join(home, sessionsDir, fmt.Sprint(2023+d/336), fmt.Sprintf("%02d", 1+d/28%12), fmt.Sprintf("%02d", 1+d%28), base(i)), "x")
	}
	return home
}

func BenchmarkList(b *testing.B) {
	home := bigTree(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		files, _, err := List(b.Context(), home)
		if err != nil || len(files) != 10_000 {
			b.Fatal(len(files), err)
		}
	}
}

// BenchmarkAppendToChange is the way of one append to the receiver, most of
// which is waiting for quiet.
func BenchmarkAppendToChange(b *testing.B) {
	home := bigTree(b, 1000)
	w, err := New(Options{Homes: []string{home}, Rescan: never})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	out, done := make(chan Change), make(chan error)
	go func() { done <- w.Run(ctx, out) }()
	var last File
	for range 1000 {
		last = (<-out).File
	}
	for b.Loop() {
		appendTo(b, last.Path, "y")
		<-out
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
