package mcpserver_test

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
)

// asked are what people ask for, and the tools of which one must be among the
// first three that a client's search of tools finds.
var asked = map[string][]string{
	"what codex sessions did I have yesterday":                             {"list_sessions"},
	"list my recent conversations in this project":                         {"list_sessions"},
	"show session history of another folder":                               {"list_sessions"},
	"find the chat where we fixed the upload bug":                          {"search_sessions"},
	"grep old conversations for an error message":                          {"search_sessions"},
	"which session mentioned the database migration script":                {"search_sessions"},
	"does this session fit into claude opus context window":                {"get_migration_decision"},
	"can another model take over my codex thread or must it be compressed": {"get_migration_decision"},
	"how many tokens does my session have":                                 {"get_migration_decision", "list_sessions"},
	"continue the work of an earlier session":                              {"get_session_context"},
	"hand over this thread to another agent":                               {"get_session_context"},
	"load memory of the last session":                                      {"get_session_context"},
	"get the full text of an omitted message":                              {"get_omitted_original"},
	"show the original tool output behind a reference om_":                 {"get_omitted_original"},
	"how large is the context window of gpt-5.5":                           {"model_context_window"},
	"maximum output tokens of a model":                                     {"model_context_window"},
	"which models have a window over 500k tokens":                          {"list_known_models"},
	"compress a list of chat messages for a smaller model":                 {"migrate_session"},
	"trim messages json so they fit the target model":                      {"migrate_session"},
	"is the session-migrator daemon running and up to date":                {"migrator_status"},
	"what was I working on last week":                                      {"list_sessions", "search_sessions"},
	"summary of a previous codex thread":                                   {"get_session_context"},
	"resume where another agent left off":                                  {"get_session_context"},
	"search past sessions for a function name":                             {"search_sessions"},
	"migration decision":                                                   {"get_migration_decision"},
	"session context":                                                      {"get_session_context"},
	"migrate session":                                                      {"migrate_session", "get_migration_decision"},
	"status of the cache":                                                  {"migrator_status"},
	"list known models":                                                    {"list_known_models"},
	"read what was said in turn 17 of a session":                           {"get_omitted_original", "search_sessions", "get_session_context"},
	"export the transcript of a session as messages":                       {"get_session_context"},
	"which of my sessions fit gpt-5.5":                                     {"list_sessions", "get_migration_decision"},
	"where did I discuss oauth in earlier chats":                           {"search_sessions"},
	"pick up where I left off":                                             {"get_session_context"},
	"find a previous discussion about redis":                               {"search_sessions"},
	"token budget of a session for the target model":                       {"get_migration_decision"},
	"is my session too big for this model":                                 {"get_migration_decision"},
	"switch a session to a different model":                                {"get_migration_decision", "get_session_context"},
	"recent threads":                                                       {"list_sessions"},
	"codex history":                                                        {"list_sessions", "search_sessions"},
	"find a model with a context of 1M tokens":                             {"list_known_models"},
	"what models are supported":                                            {"list_known_models"},
	"fetch a message by its ref":                                           {"get_omitted_original"},
	"health of the migrator":                                               {"migrator_status"},
	"handoff document for claude":                                          {"get_session_context"},
	"get the transcript of a session by id":                                {"get_session_context"},
	"past conversation about the login bug":                                {"search_sessions"},
	"what happened in the last session":                                    {"list_sessions", "get_session_context", "search_sessions"},
}

// TestSearchesFindTheTool ranks our tools as Codex does where it hides them
// behind a search: BM25 over names, title, description, instructions and names
// of arguments. Names of tools are one word there.
func TestSearchesFindTheTool(t *testing.T) {
	searches(t, mcpserver.Deps{}, asked, 3)
}

// One tool more, one place more; and it is found itself.
func TestSearchesFindTheToolThatSaves(t *testing.T) {
	searches(t, saving(t), asked, 4)
	own := []string{"save_session_summary"}
	searches(t, saving(t), map[string][]string{"save a summary of this session": own, "store my summary": own, "save summary": own, "write a session summary": own}, 3)
}

func searches(t *testing.T, d mcpserver.Deps, asked map[string][]string, places int) {
	t.Helper()
	tools, _ := listed(t, d)
	init := connect(t, d).request("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "0"}})
	var server struct{ Instructions string }
	if err := json.Unmarshal(init.Result, &server); err != nil {
		t.Fatal(err)
	}
	docs := map[string][]string{}
	for _, tool := range tools {
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		docs[tool.Name] = stems(strings.Join([]string{"mcp__session-migrator__" + tool.Name, tool.Name, tool.Name, "session-migrator", tool.Title, tool.Description,
			server.Instructions, strings.Join(slices.Sorted(maps.Keys(schema.Properties)), " ")}, " "))
	}
	for question, want := range asked {
		got := ranked(docs, question)
		first := got[:min(places, len(got))]
		if !slices.ContainsFunc(want, func(w string) bool { return slices.Contains(first, w) }) {
			t.Errorf("%q finds %v, want %v among the first %d", question, got, want, places)
		}
	}
}

// ranked gives the names of the documents that have a word of the question,
// best first.
func ranked(docs map[string][]string, question string) []string {
	const k1, b = 1.2, 0.75
	length := 0
	for _, d := range docs {
		length += len(d)
	}
	average := float64(length) / float64(len(docs))
	scores := map[string]float64{}
	for _, word := range stems(question) {
		holds := 0
		for _, d := range docs {
			if slices.Contains(d, word) {
				holds++
			}
		}
		idf := math.Log(1 + (float64(len(docs)-holds)+0.5)/(float64(holds)+0.5))
		for name, d := range docs {
			n := 0.0
			for _, w := range d {
				if w == word {
					n++
				}
			}
			if n > 0 {
				scores[name] += idf * n * (k1 + 1) / (n + k1*(1-b+b*float64(len(d))/average))
			}
		}
	}
	return slices.SortedFunc(maps.Keys(scores), func(x, y string) int {
		switch {
		case scores[x] > scores[y]:
			return -1
		case scores[x] < scores[y]:
			return 1
		}
		return strings.Compare(x, y)
	})
}

// stopWords carry no meaning, and searches leave them out.
var stopWords = strings.Fields(`i me my myself we our ours you your yours he him his she her it its they them their what which who whom this that these those
	am is are was were be been being have has had having do does did doing a an the and but if or because as until while of at by for with about against between
	into through during before after above below to from up down in out on off over under again further then once here there when where why how all any both each
	few more most other some such no nor not only own same so than too very s t can will just don should now`)

// stems gives the words of a text, by their roots and without stop words.
func stems(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		if slices.Contains(stopWords, w) {
			continue
		}
		for _, end := range []string{"ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s", "e", "y"} {
			if root, ok := strings.CutSuffix(w, end); ok && len(root) >= 3 && !strings.HasSuffix(w, "ss") {
				w = root
				break
			}
		}
		out = append(out, w)
	}
	return out
}
