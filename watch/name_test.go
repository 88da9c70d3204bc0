package watch

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

const (
	idA = "019a0000-0000-7000-8000-000000000032"
	idB = "019a0000-0000-7000-8000-0000000000ff"
)

func TestParseName(t *testing.T) {
	const stamp = "2026-08-20T09-00-00"
	tests := []struct {
		base string
		want Name // zero: not ours
	}{
		{"rollout-" + stamp + "-" + idA + ".jsonl", Name{stamp, idA, idA, Plain}},
		{"rollout-" + stamp + "-" + idA + ".jsonl.zst", Name{stamp, idA, idA, Zstd}},
		{"rollout-" + stamp + "-" + idA + "_" + idB + ".jsonl", Name{stamp, idA, idB, Plain}},
		{"rollout-" + stamp + "-" + idA + "_" + idB + ".jsonl.zst", Name{stamp, idA, idB, Zstd}},
		{"rollout-2025-05-17-" + idA + ".json", Name{"2025-05-17", idA, idA, Document}},
		{".rollout-" + stamp + "-" + idA + ".jsonl.paginated.tmp", Name{}},
		{".rollout-materialize-AbCdEf", Name{}},
		{"rollout-compress-AbCdEf.tmp", Name{}},
		{"rollout-" + stamp + "-" + idA + ".jsonl.compress.123.4.tmp", Name{}},
		{"rollout-" + stamp + "-" + idA + ".json", Name{}},
		{"rollout-2025-05-17-" + idA + ".jsonl", Name{}},
		{"rollout-2025-05-17-" + idA + "_" + idB + ".json", Name{}},
		{"rollout-" + stamp + "-" + idA + "-" + idB + ".jsonl", Name{}},
		{"rollout-" + stamp + "-" + idA + "x.jsonl", Name{}},
		{"rollout-" + stamp + "-" + "019A0000-0000-7000-8000-000000000032" + ".jsonl", Name{}},
		{"rollout-" + stamp + "-" + idA + ".JSONL", Name{}},
		{"rollout-" + stamp + ".jsonl", Name{}},
		{"rollout-.jsonl", Name{}},
		{"session_index.jsonl", Name{}},
		{"", Name{}},
	}
	for _, test := range tests {
		got, ok := ParseName(test.base)
		if ok != (test.want != Name{}) || ok && got != test.want {
			t.Errorf("ParseName(%q) = %+v, %v, want %+v", test.base, got, ok, test.want)
		}
	}
}

// The names are defined by regular expressions; ParseName is them, by hand.
func TestParseNameIsTheExpression(t *testing.T) {
	lines := regexp.MustCompile(`^rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-([0-9a-f-]{36})(?:_([0-9a-f-]{36}))?\.jsonl(\.zst)?$`)
	document := regexp.MustCompile(`^rollout-(\d{4}-\d\d-\d\d)-([0-9a-f-]{36})\.json$`)
	part := rapid.SampledFrom([]string{"rollout-", "2026-08-20T09-00-00", "2026-08-20", "T", "-", "_", idA, idB, ".jsonl", ".json", ".zst", "x", "A", "9"})
	usual := rapid.Custom(func(t *rapid.T) string {
		b := "rollout-" + rapid.SampledFrom([]string{"2026-08-20T09-00-00", "2026-08-20", "2026-8-20T09-00-00"}).Draw(t, "stamp") + "-" + idA
		b += rapid.SampledFrom([]string{"", "_" + idB, "-" + idB, "_", "g"}).Draw(t, "second")
		return b + rapid.SampledFrom([]string{".jsonl", ".jsonl.zst", ".json", ".json.zst", "", "\n"}).Draw(t, "ext")
	})
	rapid.Check(t, func(t *rapid.T) {
		var b string
		if rapid.Bool().Draw(t, "usual") {
			b = usual.Draw(t, "name")
		} else {
			for _, p := range rapid.SliceOfN(part, 0, 7).Draw(t, "parts") {
				b += p
			}
		}
		var want Name
		if m := lines.FindStringSubmatch(b); m != nil {
			want = Name{m[1], m[2], m[2], Plain}
			if m[3] != "" {
				want.RolloutID = m[3]
			}
			if m[4] != "" {
				want.Form = Zstd
			}
		} else if m := document.FindStringSubmatch(b); m != nil {
			want = Name{m[1], m[2], m[2], Document}
		}
		if got, ok := ParseName(b); ok != (want != Name{}) || ok && got != want {
			t.Fatalf("ParseName(%q) = %+v, %v, want %+v", b, got, ok, want)
		}
	})
}

func TestNamesOfSets(t *testing.T) {
	for got, want := range map[string]string{
		Plain.String(): "plain", Zstd.String(): "zstd", Document.String(): "document", Form(9).String(): "form(9)",
		Present.String(): "present", Gone.String(): "gone", IndexChanged.String(): "index changed", Kind(9).String(): "kind(9)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if b, err := Zstd.MarshalText(); err != nil || string(b) != "zstd" {
		t.Errorf("MarshalText() = %q, %v", b, err)
	}
	if b, err := Gone.MarshalText(); err != nil || string(b) != "gone" {
		t.Errorf("MarshalText() = %q, %v", b, err)
	}
}
