package calibration_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/calibration"
)

func samples(vendor ...int64) (out []calibration.Sample) {
	for _, n := range vendor {
		out = append(out, calibration.Sample{Counted: 1000, Vendor: n})
	}
	return out
}

func TestMeasure(t *testing.T) {
	e, err := calibration.Measure(append(samples(1100, 1200, 1200, 1200, 1200, 1200, 1200, 1300), calibration.Sample{Counted: 10, Vendor: 90}))
	if err != nil || e.Samples != 8 || e.Typical != 1.2 || e.Low < 1.088 || e.Low > 1.0891 || e.High < 1.3129 || e.High > 1.3131 || e.Counted != 8000 || e.Tokens != 9600 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := calibration.Measure(samples(1100, 1200, 1300, 1, 1, 1, 1)[:3]); !errors.Is(err, calibration.ErrFew) {
		t.Errorf("three samples: %v", err)
	}
	for _, n := range []int64{5, 50_000} {
		if _, err := calibration.Measure(samples(1000, 1000, 1000, 1000, 1000, 1000, 1000, n)); !errors.Is(err, calibration.ErrStrange) {
			t.Errorf("%d of 1,000: %v", n, err)
		}
	}
}

func TestBookFollowsItsFile(t *testing.T) {
	home := t.TempDir()
	b, err := calibration.Open(home)
	if err != nil || len(b.Entries()) != 0 {
		t.Fatalf("%v, %v", b.Entries(), err)
	}
	save := func(family string, n int64) {
		t.Helper()
		e, err := calibration.Measure(samples(slices.Repeat([]int64{n}, 8)...))
		if err != nil {
			t.Fatal(err)
		}
		e.Family, e.Model, e.Vendor, e.Date = family, "m", "v", time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
		if err := calibration.Save(home, e); err != nil {
			t.Fatal(err)
		}
	}
	save("b", 1500)
	save("a", 1100)
	save("b", 1600)
	n, err := b.Look()
	if again, _ := b.Look(); n != 1 || again != 1 || err != nil {
		t.Errorf("%d, then %d changes, %v", n, again, err)
	}
	e, ok := b.For("b")
	if !ok || e.Typical != 1.6 || e.Source() != "calibrated 2026-11-30" || len(b.Entries()) != 2 {
		t.Errorf("%+v of %+v", e, b.Entries())
	}
	if _, ok := b.For(""); ok {
		t.Error("no family has factors")
	}
	if err := os.WriteFile(filepath.Join(home, calibration.Name), []byte(`{"calibrations":[{"family":"a","samples":9,"low":1,"typical":9,"high":10}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Look(); n != 2 || err != nil || len(b.Entries()) != 0 {
		t.Errorf("impossible factors: %d, %v, %+v", n, err, b.Entries())
	}
	if err := os.WriteFile(filepath.Join(home, calibration.Name), []byte(`{"calibrations":[{"fam`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Look(); err == nil || len(b.Entries()) != 0 {
		t.Errorf("a torn file: %v, %+v", err, b.Entries())
	}
	save("c", 1200) // what was asked for, and paid, isn't lost to it
	if _, err := b.Look(); err != nil || len(b.Entries()) != 1 {
		t.Errorf("written anew: %v, %+v", err, b.Entries())
	}
	var none *calibration.Book
	if _, ok := none.For("a"); ok {
		t.Error("no book has factors")
	}
	if err := calibration.Save(home, calibration.Entry{Family: "x"}); !errors.Is(err, calibration.ErrStrange) {
		t.Errorf("saved nothing: %v", err)
	}
}
