package memory

import "testing"

func TestTagsOpenNothing(t *testing.T) {
	for in, want := range map[string]string{
		"<img src=x>": "> &lt;img src=x>", "a < b": "> a < b", "</p>": "> &lt;/p>", "@README": `> \@README`, "dana@example.org": "> dana@example.org",
	} {
		if got := quote(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
