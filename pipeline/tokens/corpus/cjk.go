package corpus

// script is a language written without spaces, or with few.
type script struct {
	nouns, verbs, adverbs, modifiers []string
	of, subject, object              []string // particles; verbs come last if there is one for objects
	comma, stop                      []string
	space                            string // between the parts of a sentence
}

// wideBlock writes a paragraph in one of the languages.
func (w *writer) wideBlock() {
	all := scripts()
	s := all[w.IntN(len(all))]
	switch w.IntN(16) {
	case 0: // what stands between paragraphs is much the same in all languages
		w.put("```sh\n$ ", w.word(nouns), " ", w.word(verbs), " --", w.word(nouns), "=", w.path(), "\n")
		w.list()
		w.put("```\n\n")
		return
	case 1:
		for range 1 + w.IntN(6) {
			w.put("| `", w.snake(), "` | ", w.word(s.nouns), " | ", w.word(s.modifiers), s.space, w.word(s.nouns), " |\n")
		}
		w.put("\n")
		return
	}
	for range 1 + w.IntN(5) {
		w.wideSentence(s)
	}
	w.put(w.any("\n", "\n\n", "\n\n"))
}

func (w *writer) wideSentence(s *script) {
	if w.one(12) {
		w.put(w.any("- ", "1. ", "## ", "・"))
	}
	for {
		w.widePhrase(s)
		w.put(w.word(s.subject), s.space)
		if w.one(3) {
			w.put(w.word(s.adverbs), s.space)
		}
		if len(s.object) > 0 {
			w.widePhrase(s)
			w.put(w.word(s.object), s.space, w.word(s.verbs))
		} else {
			w.put(w.word(s.verbs))
			w.widePhrase(s)
		}
		if w.one(2) {
			break
		}
		w.put(w.word(s.comma))
	}
	w.put(w.word(s.stop))
	if w.one(15) {
		w.put(w.any("😀", "👍🏽", "👩‍💻", "🎉", "⚠️", "✅"), " ")
	}
}

// widePhrase writes a noun with what belongs to it.
func (w *writer) widePhrase(s *script) {
	switch w.IntN(16) {
	case 0:
		w.put("「", w.word(s.nouns), "」")
		return
	case 1:
		w.put(" `", w.name(), "` ")
		return
	case 2:
		w.putf(" %d ", w.IntN(2000))
	case 3, 4:
		w.put(" ", title(w.word(nouns)), " ")
	}
	if w.one(4) {
		w.put(w.word(s.modifiers), s.space)
	}
	if w.one(4) {
		w.put(w.word(s.nouns), w.word(s.of), s.space)
	}
	w.put(w.word(s.nouns))
	if s.space == "" && w.one(4) {
		w.put(w.word(s.nouns))
	}
}
