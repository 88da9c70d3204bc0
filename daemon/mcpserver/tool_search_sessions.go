package mcpserver

import (
	"context"
	"strings"
	"time"

	"github.com/session-migrator/session-migrator/pipeline"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
	"github.com/session-migrator/session-migrator/store/search"
)

func searchSessions() *tool {
	return &tool{
		name: "search_sessions", title: "Search Codex sessions",
		description: "Search past Codex sessions: find the conversation, chat or message where something was said, called or put out, such as an error. Words in any order, parts of identifiers, any script, best match first. Each hit has a ref; get_omitted_original gives its whole text.",
		search:      "search find grep past codex sessions conversations chats messages: which session mentioned or fixed an error or bug",
		params: []param{{name: "query", required: true, other: []string{"q", "text", "search", "search_query", "userQuery", "keywords", "pattern"}},
			{name: "session", other: sessionParam.other}, {name: "workspace", other: []string{"cwd", "project"}}, {name: "since"}, limitParam, cursorParam},
		input: `{"type":"object","properties":{"query":{"type":"string","description":"Words; also \"as written\", begin*, -without, role:user, tool:, path:, since:7d"},` +
			`"session":{"type":"string","description":"Only in this one"},` +
			`"workspace":{"type":"string","description":"Folder, or all; default: where this server runs"},` +
			`"since":{"type":"string","description":"Age such as 7d, or RFC 3339"},` +
			`"limit":{"type":"integer","minimum":1,"maximum":50,"default":10},` +
			`"cursor":{"type":"string"}},"required":["query"],"additionalProperties":false}`,
		output: `{"type":"object","properties":{` +
			`"hits":{"type":"array","items":{"type":"object","properties":{"session_id":{"type":"string"},"title":{"type":"string"},"ref":{"type":"string"},` +
			`"role":{"type":"string"},"tool":{"type":"string"},"turn":{"type":"integer"},"time":{"type":"string"},"snippet":{"type":"string"},` +
			`"taken_back":{"type":"boolean"}},"required":["session_id","ref","role","time","snippet"]}},` +
			`"next_cursor":{"type":"string"},"note":{"type":"string"}},"required":["hits"]}`,
		run: runSearchSessions,
	}
}

type hitRow struct {
	SessionID string `json:"session_id"`
	Title     string `json:"title,omitempty"`
	Ref       string `json:"ref"`
	Role      string `json:"role"`
	Tool      string `json:"tool,omitempty"` // calls only
	Turn      int    `json:"turn,omitempty"`
	Time      string `json:"time"`
	Snippet   string `json:"snippet"`
	TakenBack bool   `json:"taken_back,omitempty"` // rolled back, or rewritten away
}

type hitList struct {
	Hits []hitRow `json:"hits"`
	Next string   `json:"next_cursor,omitempty"`
	Note string   `json:"note,omitempty"`
}

// searchCursor is where the next page of hits starts, and of what question.
type searchCursor struct {
	Tool      string `json:"t"`
	Query     string `json:"q"`
	Session   string `json:"s,omitempty"`
	Workspace string `json:"w,omitempty"`
	Since     int64  `json:"a,omitempty"` // ns
	Offset    int    `json:"o"`
}

const (
	maxHitOffset = 10_000 // bounds how far a search can be paged
	maxQuery     = 2_000  // characters of a question that are read
	freshChecked = 50     // sessions that are looked at for lines that nobody took in
)

func runSearchSessions(ctx context.Context, s *server, c call) (result, error) {
	h, release, err := s.cache.use(ctx)
	if err != nil {
		return result{}, err
	}
	defer release()
	limit, err := c.args.within("limit", 10, 1, 50)
	if err != nil {
		return result{}, err
	}
	cur, err := s.searchCursor(ctx, h, c)
	if err != nil {
		return result{}, err
	}
	r := search.Request{Query: cur.Query, Thread: cur.Session, Workspace: cur.Workspace, Within: s.workspace, Limit: limit, Offset: cur.Offset, Now: s.now()}
	if cur.Since != 0 {
		r.Since = time.Unix(0, cur.Since)
	}
	x, note := s.index.get(ctx), ""
	if x != nil && s.deps.Meaning != nil {
		note = s.deps.Meaning(ctx, h.db, &r)
	}
	found, err := h.pipe.Search(ctx, x, r)
	if err != nil {
		return result{}, err
	}
	if note != "" {
		found.Notes = append(found.Notes, pipeline.RedactText(note))
	}
	out := hitList{Hits: []hitRow{}}
	for _, f := range found.Hits {
		out.Hits = append(out.Hits, hitRow{
			SessionID: f.ThreadID, Title: titleOf(f.Title), Ref: f.Ref, Role: f.Role.String(), Tool: echoed(f.Tool, 64),
			Turn: f.Turn, Time: stamp(f.Time), Snippet: f.Snippet, TakenBack: f.Dead,
		})
	}
	var notes []string
	switch {
	case found.Next > maxHitOffset:
		notes = append(notes, "There is more, but no search goes further than this: narrow it down by session, workspace, since or more words.")
	case found.Next > 0:
		next := cur
		next.Offset = found.Next
		out.Next = encodeCursor(next)
	case len(out.Hits) == 0 && cur.Offset == 0:
		notes = append(notes, s.nothingFound(cur))
	}
	for _, n := range found.Notes {
		notes = append(notes, strings.TrimSuffix(n, ".")+".")
	}
	if found.Behind > 0 && x != nil {
		notes = append(notes, grouped(found.Behind)+" messages could not be looked through yet: ask again in a minute.")
	}
	late, err := s.unsearched(ctx, h, &cur)
	if err != nil {
		return result{}, err
	}
	if late != "" {
		notes = append(notes, late)
	}
	if r := s.rebuilding(ctx, h); r != "" {
		notes = append(notes, "Not all sessions are here yet: "+r+".")
	}
	out.Note = oneLine(strings.Join(notes, " "))
	return dataResult(out)
}

func (s *server) nothingFound(cur searchCursor) string {
	text := "Nothing matches. Try fewer or other words"
	switch {
	case cur.Session != "":
		text += ", or search without session"
	case cur.Workspace != "" && s.workspace == "":
		text += `, or workspace "all": this was one folder's sessions`
	case cur.Since != 0:
		text += ", or search without since"
	}
	return text + "."
}

// searchCursor reads what to search for: from the cursor if there is one. It
// can't ask past the server's own bounds: Within is no part of it, and a session
// is found anew.
func (s *server) searchCursor(ctx context.Context, h *handle, c call) (searchCursor, error) {
	cur := searchCursor{Tool: c.tool.name}
	text, err := c.args.text("cursor")
	if err != nil {
		return cur, err
	}
	if text != "" {
		cur = searchCursor{}
		if err := decodeCursor(text, &cur); err != nil {
			return cur, err
		}
		if cur.Tool != c.tool.name || cur.Query == "" || cur.Offset < 0 || cur.Offset > maxHitOffset {
			return cur, errCursor
		}
		same, err := s.sameSearch(ctx, h, c, &cur)
		if err != nil {
			return cur, err
		}
		if !same {
			return cur, errCursor
		}
		if cur.Session != "" {
			if c.args.values["session"], err = marshal(cur.Session); err != nil {
				return cur, err
			}
			cur.Session, err = s.session(ctx, h, c)
		}
		return cur, err
	}
	if cur.Query, err = c.args.text("query"); err != nil {
		return cur, err
	}
	if cur.Query == "" {
		return cur, c.args.missing("query")
	}
	if n := len([]rune(cur.Query)); n > maxQuery {
		return cur, advise("The query has %s characters, the limit is %s. Give the words to look for.", grouped(n), grouped(maxQuery))
	}
	if cur.Workspace, err = s.searchedWorkspace(ctx, h, c); err != nil {
		return cur, err
	}
	if cur.Since, err = s.sinceArg(c); err != nil {
		return cur, err
	}
	if c.args.has("session") {
		cur.Session, err = s.session(ctx, h, c)
	}
	return cur, err
}

// sameSearch tells whether the arguments beside a cursor ask for what it is of.
// Those that are left out do.
func (s *server) sameSearch(ctx context.Context, h *handle, c call, cur *searchCursor) (bool, error) {
	query, err := c.args.text("query")
	if err != nil || query != "" && query != cur.Query {
		return false, err
	}
	session, err := c.args.text("session")
	if err != nil {
		return false, err
	}
	if session != "" {
		if id, err := s.session(ctx, h, c); err != nil || id != cur.Session {
			return false, err
		}
	}
	workspace, err := c.args.text("workspace")
	if err != nil {
		return false, err
	}
	if workspace != "" {
		if w, err := s.searchedWorkspace(ctx, h, c); err != nil || w != cur.Workspace {
			return false, err
		}
	}
	since, err := s.sinceArg(c)
	if err != nil || since == 0 {
		return err == nil, err
	}
	// An age is counted from now.
	return cur.Since != 0 && time.Duration(since-cur.Since).Abs() <= time.Hour, nil
}

// unsearched says how many of the newest sessions have lines that nobody has
// taken in, and so were not searched; empty: none, or the daemon takes them in.
func (s *server) unsearched(ctx context.Context, h *handle, cur *searchCursor) (string, error) {
	if s.daemon(ctx).Running {
		return "", nil
	}
	var list []transcript.Thread
	var err error
	if cur.Session != "" {
		t, err := h.db.Thread(ctx, cur.Session)
		if err != nil {
			return "", err
		}
		list = append(list, t)
	} else {
		w := cur.Workspace
		if s.workspace != "" {
			w = s.workspace
		}
		if list, _, err = h.db.Threads(ctx, store.Filter{Workspace: w, Archived: true, Subagents: true, Limit: freshChecked}); err != nil {
			return "", err
		}
	}
	n := 0
	for i := range list {
		f, err := h.pipe.Freshness(ctx, &list[i])
		if err != nil {
			return "", err
		}
		if f.Behind > 0 {
			n++
		}
	}
	switch n {
	case 0:
		return "", nil
	case 1:
		return "1 session has lines that were not searched: no daemon is running (`session-migrator run`).", nil
	}
	return grouped(int64(n)) + " sessions have lines that were not searched: no daemon is running (`session-migrator run`).", nil
}

// searchedWorkspace gives the key of the workspace asked for; empty: all. Who
// names a session needn't say where it ran.
func (s *server) searchedWorkspace(ctx context.Context, h *handle, c call) (string, error) {
	if s.workspace == "" && !c.args.has("workspace") && c.args.has("session") {
		return "", nil
	}
	return s.workspaceArg(ctx, h, c)
}

// sinceArg gives the time asked for in ns; 0: none.
func (s *server) sinceArg(c call) (int64, error) {
	since, err := c.args.text("since")
	if err != nil || since == "" {
		return 0, err
	}
	at, err := ago(since, s.now())
	if err != nil {
		return 0, err
	}
	return at.UnixNano(), nil
}
