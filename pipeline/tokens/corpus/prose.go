package corpus

// block writes a paragraph, or what stands between paragraphs.
func (w *writer) block() {
	switch w.IntN(12) {
	case 11:
		w.putf("[![%s](https://%s.example/%s/%s.svg?v=%d.%d)](#%s-%s) **v%d.%d.%d** (2026-0%d-1%d)\n\n", w.word(nouns), w.word(nouns), w.hex(7), w.word(nouns), w.IntN(9), w.IntN(20),
			w.word(nouns), w.word(verbs), w.IntN(4), w.IntN(30), w.IntN(12), 1+w.IntN(9), w.IntN(10))
	case 0:
		w.put("## ", title(w.noun()), " and ", w.noun(), "\n\n")
	case 1:
		for range 2 + w.IntN(5) {
			w.put(w.any("- ", "* ", "- `"+w.name()+"`: "))
			w.sentence()
			w.put("\n")
		}
		w.put("\n")
	case 2:
		w.putf("| %s | %s | %s |\n|---|---|---|\n", w.noun(), w.noun(), w.noun())
		for range 1 + w.IntN(5) {
			w.putf("| `%s` | %d | %s %s |\n", w.snake(), w.IntN(5000), w.word(adjectives), w.noun())
		}
		w.put("\n")
	case 3:
		w.put("```sh\n")
		for range 1 + w.IntN(3) {
			w.putf("$ %s %s --%s=%s -%s %d %s | %s > /tmp/%s.%d\n", w.word(nouns), w.word(verbs), w.word(nouns), w.name(), w.letters("abcnrvx", 1), w.IntN(9000), w.path(), w.word(verbs), w.word(nouns), w.IntN(99))
		}
		w.put("```\n\n")
	default:
		for range 1 + w.IntN(6) {
			w.sentence()
			w.put(w.any(" ", " ", " ", "\n"))
		}
		w.put("\n\n")
	}
}

// noun is one word of the open classes, now and then a rare form of it.
func (w *writer) noun() string {
	switch w.IntN(12) {
	case 0:
		return w.word(prefixes) + w.word(nouns)
	case 1:
		return w.word(verbs) + w.word(suffixes)
	case 2, 3, 4:
		return w.word(nouns) + w.word(suffixes)
	case 5:
		return w.word(nouns) + "-" + w.word(nouns)
	}
	return w.word(nouns)
}

// phrase writes something that can be a subject or an object.
func (w *writer) phrase() {
	switch w.IntN(14) {
	case 0:
		w.put(w.any("it", "this", "that", "they", "we", "you", "nothing", "everybody"))
		return
	case 1:
		w.put(w.word(people))
		return
	case 2:
		w.put("`", w.name(), w.any("", "()", ".", "."+w.name()), "`")
		return
	case 3:
		w.putf("%d %ss", 2+w.IntN(400), w.word(nouns))
		return
	case 4:
		w.put("the [", w.noun(), "](https://", w.word(nouns), ".example/", w.word(nouns), "/", w.word(nouns), ")")
		return
	}
	w.put(w.any("the ", "the ", "a ", "its ", "each ", "no ", "your ", "every ", "such a "))
	if w.one(3) {
		w.put(w.word(adjectives), " ")
	}
	w.put(w.noun())
	if w.one(3) {
		w.put(w.any(" of the ", " of its ", " in a ", " for ", " with ", " to ", "'s ", "/"), w.noun())
	}
}

// sentence writes one, with its full stop.
func (w *writer) sentence() {
	at := w.Len()
	w.clause()
	for w.one(3) {
		w.put(w.any(", ", " ", ", "), w.word(linking), " ")
		w.clause()
	}
	switch w.IntN(12) {
	case 3:
		w.putf(", e.g. `-%s`, `--%s-%s %d` or \"%s\"", w.letters("abcdefnrsv", 1), w.word(verbs), w.word(nouns), w.IntN(64), w.word(people))
	case 4:
		w.putf(" (see §%d.%d, p. %d)", 1+w.IntN(9), 1+w.IntN(9), w.IntN(300))
	case 5:
		w.putf(" — %d.%d ms, %d MB/s", w.IntN(90), w.IntN(10), w.IntN(2000))
	case 0:
		w.put(" (", w.word(adverbs), " ")
		w.phrase()
		w.put(")")
	case 1:
		w.put(": ")
		w.phrase()
	case 2:
		w.putf(" (%d.%d %%)", w.IntN(100), w.IntN(10))
	}
	w.put(w.any(".", ".", ".", ".", "!", "?", "; it’s so."))
	if b := w.Bytes(); at < len(b) && b[at] >= 'a' && b[at] <= 'z' {
		b[at] -= 'a' - 'A'
	}
}

func (w *writer) clause() {
	w.phrase()
	w.put(" ", w.any("is", "was", "can", "doesn't", "must", "will", "has to", "should", "isn't", "won't", "may"), " ")
	if w.one(3) {
		w.put(w.word(adverbs), " ")
	}
	w.put(w.any("", "", "be ", "not ", "be as it is or ", "go on to "), w.word(verbs), w.any(" ", " ", " to ", " out of ", " all of "))
	w.phrase()
	if w.one(3) {
		w.put(" ", w.any("from", "into", "at", "over", "through", "by", "between", "on"), " ")
		w.phrase()
	}
}
