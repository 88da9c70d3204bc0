package mcpserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/daemon/mcpserver"
)

const hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`

// sound are messages that mean something, to be spoilt.
func sound() []string {
	meta, err := json.Marshal(modernMeta)
	if err != nil {
		panic(err)
	}
	methods := map[string]string{
		"ping": `{}`, "tools/list": `{}`, "prompts/list": `{}`, "resources/list": `{}`, "resources/templates/list": `{}`, "server/discover": `{}`,
		"logging/setLevel": `{"level":"info"}`, "resources/read": `{"uri":"migrator://session/latest/memory.md"}`,
		"resources/subscribe": `{"uri":"migrator://status"}`, "resources/unsubscribe": `{"uri":"migrator://status"}`,
		"prompts/get":          `{"name":"catch_up","arguments":{"workspace":"all"}}`,
		"completion/complete":  `{"ref":{"type":"ref/prompt","name":"resume"},"argument":{"name":"session","value":"fix"}}`,
		"subscriptions/listen": `{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["migrator://sessions"]}}`,
	}
	for name, args := range map[string]string{
		"list_sessions": `{"workspace":"all","since":"7d","limit":2}`, "get_migration_decision": `{"session":"latest","target_model":"gpt-5.5","reserve_tokens":7}`,
		"get_session_context": `{"session":"latest","format":"summary","max_bytes":2000}`, "get_omitted_original": `{"ref":"om_0000a001.2"}`,
		"model_context_window": `{"model":"gpt-5.5"}`, "list_known_models": `{"query":"gpt","limit":1}`, "migrator_status": `{}`,
		"migrate_session": `{"messages_json":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"target_model":"gpt-5.5"}`,
	} {
		methods["tools/call "+name] = `{"name":"` + name + `","arguments":` + args + `}`
	}
	var out []string
	for method, params := range methods {
		method, _, _ = strings.Cut(method, " ")
		out = append(out,
			`{"jsonrpc":"2.0","id":77,"method":"`+method+`","params":`+params+`}`,
			`{"jsonrpc":"2.0","id":"m","method":"`+method+`","params":{"_meta":`+string(meta)+`,`+strings.TrimPrefix(params, "{"))
		out[len(out)-1] = strings.Replace(out[len(out)-1], ",}", "}", 1) + "}"
	}
	out = append(out, hello, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77,"reason":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	slices.Sort(out)
	return out
}

// values stand in the place of others.
var values = []string{"null", "true", "-1", "0", "1.5", "1e999", "-1e-999", strings.Repeat("9", 400), `""`, `"\ud800"`, `"\u0000"`, `"latest"`, "[]", "{}", "[[[[1]]]]",
	`{"a":{"b":[null]}}`, `{"jsonrpc":"2.0","id":5,"method":"ping"}`, `"{\"session\":\"latest\"}"`, `"` + strings.Repeat("x", 5000) + `"`, `["migrator://status"]`}

// spoilt makes a message that is wrong in one way of many, none with an end of
// line in it.
func spoilt(r *rand.Rand, messages []string) string {
	m := messages[r.IntN(len(messages))]
	switch r.IntN(14) {
	case 0:
		return m[:r.IntN(len(m))]
	case 1: // another byte, often none of UTF-8
		b := []byte(m)
		for range 1 + r.IntN(4) {
			b[r.IntN(len(b))] = byte(128 + r.IntN(128))
		}
		return string(b)
	case 2:
		return "\xef\xbb\xbf" + m
	case 3:
		return "[" + strings.Repeat(m+",", r.IntN(3)) + m + "]"
	case 4, 5, 6: // one value by another
		return otherValue(r, m)
	case 7:
		return otherValue(r, otherValue(r, otherValue(r, m)))
	case 8: // nested deep
		n := 1 + r.IntN(3000)
		deep := strings.Repeat("[", n) + strings.Repeat("]", n)
		if r.IntN(2) == 0 {
			deep = strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)
		}
		return strings.Replace(m, `"params":{`, `"params":{"pad":`+deep+`,`, 1)
	case 9: // said twice
		return strings.Replace(m, `"jsonrpc":"2.0",`, `"jsonrpc":"2.0","id":1,"id":null,"method":7,"params":[],`, 1)
	case 10:
		return strings.Replace(m, `"jsonrpc":"2.0",`, "", 1)
	case 11:
		return strings.Replace(m, `"method":"`, `"method":"`+[]string{"x", "notifications/", "rpc.", "../", "\\u0000", "tools/call\\n"}[r.IntN(6)], 1)
	case 12: // a piece of another
		other := messages[r.IntN(len(messages))]
		return m[:r.IntN(len(m))] + other[r.IntN(len(other)):]
	}
	b := make([]byte, r.IntN(200))
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	return strings.ReplaceAll(string(b), "\n", " ")
}

// otherValue puts another value in the place of what follows some colon.
func otherValue(r *rand.Rand, m string) string {
	var colons []int
	for i := range len(m) {
		if m[i] == ':' {
			colons = append(colons, i+1)
		}
	}
	if len(colons) == 0 {
		return m
	}
	at := colons[r.IntN(len(colons))]
	var v json.RawMessage
	dec := json.NewDecoder(strings.NewReader(m[at:]))
	if dec.Decode(&v) != nil {
		return m[:at] + values[r.IntN(len(values))] + m[at:]
	}
	return m[:at] + values[r.IntN(len(values))] + m[at+int(dec.InputOffset()):]
}

// Whatever comes, the server answers the next who asks.
func TestTenThousandMalformedMessages(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	c := legacy(t, projects(t).deps())
	r := rand.New(rand.NewPCG(20, 26)) //nolint:gosec // the same each time
	messages := sound()
	answered := 0
	for i := range n {
		line := spoilt(r, messages)
		ping := fmt.Sprintf("ping %d", i)
		c.send(line)
		c.send(`{"jsonrpc":"2.0","id":"` + ping + `","method":"ping"}`)
		for {
			a := c.receive()
			if a.ID == ping {
				if a.Error != nil {
					t.Fatalf("no ping after message %d %.300q: %+v", i, line, a.Error)
				}
				break
			}
			answered++
			if a.Error != nil && a.Error.Code == -32603 && !strings.Contains(a.Error.Message, "cancelled") {
				t.Errorf("message %d %.300q: taken for our fault: %+v", i, line, a.Error)
			}
		}
	}
	if answered < n/2 {
		t.Errorf("%d answers to %d messages", answered, n)
	}
}

// FuzzWire sends bytes to a server, and then asks whether it is alive. Every
// line that comes back must be a message.
func FuzzWire(f *testing.F) {
	for _, m := range sound() {
		f.Add([]byte(m))
	}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	for range 50 {
		f.Add([]byte(spoilt(r, sound())))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const ping = `{"jsonrpc":"2.0","id":"still there","method":"ping"}`
		in := strings.NewReader(hello + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + string(data) + "\n" + ping)
		var out bytes.Buffer
		begin := time.Now()
		if err := mcpserver.Serve(t.Context(), mcpserver.Deps{}, in, &out); err != nil {
			t.Fatalf("serve: %v", err)
		}
		if took := time.Since(begin); took > mcpserver.EndGrace {
			t.Errorf("a call never ended: %v", took)
		}
		alive := false
		for l := range bytes.Lines(out.Bytes()) {
			var a answer
			if err := json.Unmarshal(l, &a); err != nil || a.Version != "2.0" {
				t.Fatalf("not a message: %q (%v)", l, err)
			}
			alive = alive || a.ID == "still there" && a.Error == nil
		}
		if !alive {
			t.Errorf("no ping: %s", out.Bytes())
		}
	})
}

// What opens a conversation is answered while a question waits for the cache.
func TestFirstAnswersWaitForNothing(t *testing.T) {
	release := make(chan struct{})
	c := connect(t, stuck(release))
	defer close(release)
	c.send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"list_sessions","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	begin := time.Now()
	for _, method := range []string{"server/discover", "tools/list", "prompts/list", "resources/templates/list"} {
		if a := c.request(method, map[string]any{"_meta": modernMeta}); a.Error != nil {
			t.Errorf("%s: %+v", method, a.Error)
		}
	}
	l := legacy(t, mcpserver.Deps{OpenStore: stuck(release).OpenStore})
	for _, method := range []string{"tools/list", "prompts/list", "resources/templates/list", "ping"} {
		if a := l.request(method, map[string]any{}); a.Error != nil {
			t.Errorf("%s: %+v", method, a.Error)
		}
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("the first answers took %v", took)
	}
}
