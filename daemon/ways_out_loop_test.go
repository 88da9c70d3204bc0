package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/rollout/rollouttest"
)

// spoken are requests in the languages that documents are written in.
var spoken = map[string]string{
	"en": "never touch the zebra4711 fonts, and fix the renderer please",
	"zh": "请修复渲染器，不要动 zebra4711 字体",
	"ja": "レンダラーを直してください。zebra4711 のフォントは絶対に触らないで",
	"ko": "렌더러를 고쳐 주세요. zebra4711 글꼴은 절대 건드리지 마세요.",
	"de": "bitte den Renderer reparieren, die Schrift zebra4711 auf keinen Fall anfassen, und danke für die Mühe",
	"fr": "Corrige le moteur de rendu, il faut arrondir à la fin seulement. Ne touche pas aux polices zebra4711.",
	"es": "Arregla el motor y no cambies las fuentes zebra4711, por favor.",
	"ru": "Почини отрисовку, сейчас она занимает 4 секунды. Шрифты zebra4711 не меняй.",
}

// What a sink wrote comes back in a session of Codex: as what the agent reads, as
// what the person pastes, as what a program puts in. None of it is handed on
// again.
func TestFilesOfSinksDontComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12 * time.Hour)
		var names []string
		for lang := range spoken {
			names = append(names, lang)
		}
		h := newHouse(t, names...)
		for i, lang := range names {
			b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", i), Cwd: h.workspaces[i], Start: time.Now().Add(-time.Hour)})
			b.User(spoken[lang]).Call("exec_command", `{"cmd":"go test ./zebra4711"}`, "Exit code: 1\nOutput:\nFAIL zebra4711").Assistant("zebra4711 is the cause.\n\nNext step: look at zebra4711").End()
			h.write(b, -1)
		}
		files := h.publish()
		h.allThere(files)
		for i, lang := range names {
			b := rollouttest.New(rollouttest.Paginated, rollouttest.Options{ThreadID: fmt.Sprintf("019a0000-0000-7000-8000-%012d", 100+i), Cwd: h.workspaces[i], Start: time.Now().Add(-time.Minute * 30)})
			n := 0
			for path, text := range files {
				base := filepath.Base(path)
				if base == "README.md" || base == "index.json" || !strings.Contains(text, "zebra4711") {
					continue
				}
				if strings.Contains(path, "/code/") && !strings.HasPrefix(path, h.workspaces[i]+string(filepath.Separator)) {
					continue // of another language
				}
				n++
				b.Inject("user_instructions", text).User("see this:\n" + text + "\n" + lang + ": go on with the port of lion0815 then")
				b.User("<working_memory_content>\nThe following is the existing working memory for this project. Use it as context.\n\n" + text + "</working_memory_content>\n\n" + "keep lion0815")
				b.Call("exec_command", `{"cmd":"cat notes.md"}`, "Exit code: 1\nOutput:\n"+text+"\n").Assistant("I see lion0815.").End()
			}
			if n < 10 {
				t.Errorf("%s: only %d files", lang, n)
			}
			h.write(b, -1)
		}
		time.Sleep(time.Hour)
		found := 0
		for path, text := range h.publish() {
			if !strings.HasSuffix(path, ".md") || !strings.Contains(filepath.Base(path), "-000001") {
				continue
			}
			found++
			if i := strings.Index(text, "zebra4711"); i >= 0 || !strings.Contains(text, "lion0815") {
				t.Errorf("%s has …%s… in\n%s", path, nearby(text, "zebra4711"), text)
			}
		}
		if found < 5*len(names) {
			t.Errorf("only %d documents", found)
		}
	})
}
