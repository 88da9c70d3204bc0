package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/daemon"
	"github.com/session-migrator/session-migrator/daemon/config"
	"github.com/session-migrator/session-migrator/daemon/mcpserver"
	"github.com/session-migrator/session-migrator/pipeline/decide"
	"github.com/session-migrator/session-migrator/store"
)

// demoLimit bounds each step: whatever hangs is a fault, not a long demo.
const demoLimit = 30 * time.Second

func newDemoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Play the main job on a small bundled sample",
		Long: `Plays the main job on four small invented sessions in a temporary folder: the
backfill, one answer picked up live, the decisions, the memory file and an answer
over MCP. It needs no Codex and no network, and leaves nothing behind.

Exit codes: 0 played, 1 failed, 130 interrupted.`,
		Example: "  session-migrator demo",
		Args:    args(0, 0, "no argument"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), a) },
	}
}

// demo is the stage: a Codex home and a data folder of its own.
type demo struct {
	*app
	config config.Config
	log    *slog.Logger
	ready  chan daemon.Progress
	ended  chan error
}

func runDemo(ctx context.Context, a *app) (err error) {
	dir, err := os.MkdirTemp("", "session-migrator-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the sample: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return err
	}
	d := &demo{app: a, log: log, ready: make(chan daemon.Progress, 1), ended: make(chan error, 1)}
	d.config = config.Config{Home: filepath.Join(dir, "data"), CodexHomes: []string{filepath.Join(dir, "codex")},
		File: filepath.Join(dir, "data", "config.toml"), MemoryDir: filepath.Join(dir, "data", "memory")}
	if err := copySample(d.config.CodexHomes[0]); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	go func() { d.ended <- daemon.Run(running, d.options()) }()
	err = d.play(ctx)
	stop()
	return errors.Join(err, <-d.ended)
}

func (d *demo) options() daemon.Options {
	return daemon.Options{Config: d.config, Version: version, Log: d.log, Progress: func(p daemon.Progress) {
		if p.Phase == daemon.PhaseWatch {
			select {
			case d.ready <- p:
			default:
			}
		}
	}}
}

func (d *demo) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{d.backfill, d.live, d.decisions, d.memory, d.mcp} {
		if err := d.act(ctx, act); err != nil {
			return err
		}
	}
	d.heading("what to do next")
	_, err := fmt.Fprintf(d.out, `read your own sessions, then keep watching:
  %[1]s run
list them, and hand the newest one over:
  %[1]s sessions
  %[1]s migrate latest --to MODEL -o handoff.md
let Codex ask by itself:
  codex mcp add session-migrator -- %[2]s mcp
or have all of that set up, with one question:
  %[1]s setup
The sample lay in a folder of its own and is deleted now: nothing of it stays.
`, program(), executable())
	return err
}

// act runs one step within its time.
func (d *demo) act(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, demoLimit, errors.New("nothing happened for 30 s"))
	defer cancel()
	err := step(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("play the sample: %w", context.Cause(ctx))
	}
	return err
}

func (d *demo) heading(text string) {
	put(d.out, "\n%s\n", d.paint(d.out, bold, "── "+text+" ──"))
}

func (d *demo) backfill(ctx context.Context) error {
	d.heading("backfill: four sessions of four Codex formats")
	var p daemon.Progress
	select {
	case p = <-d.ready:
	case err := <-d.ended:
		d.ended <- nil // told here; nobody else needs it
		return errors.Join(errors.New("the daemon ended early"), err)
	case <-ctx.Done():
		return ctx.Err()
	}
	r, err := openReader(ctx, d.config)
	if err != nil {
		return err
	}
	defer r.close()
	put(d.out, "read %s in %s\n\n", size(p.BytesDone), took(p.Elapsed))
	threads, total, err := r.db.Threads(ctx, store.Filter{})
	if err != nil {
		return err
	}
	out := sessionsJSON{Schema: 1, Total: total}
	for _, t := range threads {
		out.Sessions = append(out.Sessions, sessionJSON{ThreadID: t.ID, Title: fit(shown(t.Title), titleColumns), Cwd: shown(t.Cwd), UpdatedAt: instant(t.Updated), Turns: t.Turns,
			Tokens: t.Tokens["o200k_base"], State: t.State})
	}
	return printSessionTable(d.app, out, "")
}

// live appends what Codex would write, and waits for it in the cache and in
// the memory file.
func (d *demo) live(ctx context.Context) error {
	d.heading("live: the answer that the newest session waits for")
	r, err := openReader(ctx, d.config)
	if err != nil {
		return err
	}
	defer r.close()
	before, err := r.db.Messages(ctx, liveThread, 0, 0)
	if err != nil {
		return err
	}
	answer, end, err := liveLines(d.now())
	if err != nil {
		return err
	}
	path := filepath.Join(d.config.CodexHomes[0], filepath.FromSlash(liveRollout))
	written := time.Now()
	if err := appendTo(path, answer); err != nil {
		return err
	}
	last := before[len(before)-1].Position
	if err := until(ctx, func() (bool, error) {
		news, err := r.db.Messages(ctx, liveThread, last, 1)
		return len(news) == 1, err
	}); err != nil {
		return err
	}
	put(d.out, "one line appended to its rollout: in the cache %s later\n", took(time.Since(written)))
	ended := time.Now()
	if err := appendTo(path, end); err != nil {
		return err
	}
	if err := until(ctx, func() (bool, error) {
		_, text, err := d.memoryFile()
		return strings.Contains(text, "nothing was deployed"), err
	}); err != nil {
		return err
	}
	put(d.out, "the turn ended: the memory file was renewed %s later\n", took(time.Since(ended)))
	return nil
}

// until asks again and again, quickly: what is waited for takes milliseconds.
func until(ctx context.Context, done func() (bool, error)) error {
	t := time.NewTicker(time.Millisecond)
	defer t.Stop()
	for {
		ok, err := done()
		if err != nil && !errors.Is(err, store.ErrBusy) {
			return err
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
}

// memoryFile finds the memory file of the live session, below the data folder.
// A file that is not there yet is empty.
func (d *demo) memoryFile() (path, text string, err error) {
	root := os.DirFS(d.config.Home)
	found, err := fs.Glob(root, "memory/projects/*/*"+liveThread[len(liveThread)-8:]+".md")
	if err != nil || len(found) == 0 {
		return "", "", err
	}
	b, err := fs.ReadFile(root, found[0])
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // being replaced
	}
	return found[0], string(b), err
}

func (d *demo) decisions(ctx context.Context) error {
	d.heading("decisions: who can take this session over")
	r, err := openReader(ctx, d.config)
	if err != nil {
		return err
	}
	defer r.close()
	v, err := r.pipe.View(ctx, liveThread)
	if err != nil {
		return err
	}
	packs := &packs{r: r, v: v, opt: decide.Options{}, now: d.now()}
	if err := packs.load(ctx); err != nil {
		return err
	}
	var all []decisionJSON
	for _, m := range []string{"claude-opus-4-8", "codex/gpt-5.5", "gpt-4o", "deepseek-chat", "llama-3.3-70b@16000", "gpt-4"} {
		one, problem, err := packs.decide(ctx, m)
		if err != nil {
			return err
		}
		all = append(all, decisionJSON{Decision: one, Problem: problem})
	}
	return decisionTable(all).print(d.app, d.out)
}

// memoryLines is how much of the memory file the demo shows.
const memoryLines = 90

func (d *demo) memory(context.Context) error {
	path, text, err := d.memoryFile()
	if err != nil {
		return err
	}
	d.heading("memory file: " + path)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	shown := lines[:min(len(lines), memoryLines)]
	if err := d.printText(strings.Join(shown, "\n") + "\n"); err != nil {
		return err
	}
	if left := len(lines) - len(shown); left > 0 {
		put(d.out, "… %s more\n", plural(left, "line"))
	}
	return nil
}

// mcp asks a server, in this process, what an agent would ask.
func (d *demo) mcp(ctx context.Context) error {
	d.heading("MCP: the same question from an agent")
	deps, err := mcpDeps(d.config, d.log, "")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	in, ask := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := mcpserver.Serve(ctx, deps, in, out)
		_ = out.CloseWithError(errors.Join(err, io.EOF)) // a pipe's close never fails
		served <- err
	}()
	text, err := askDecision(ask, answers)
	_ = ask.Close() // nor does this one
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	if err := errors.Join(err, <-served); err != nil {
		return err
	}
	put(d.out, "→ get_migration_decision {\"session\":%q,\"target_model\":\"gpt-4\"}\n", liveThread)
	return d.printText("← " + strings.TrimRight(text, "\n") + "\n")
}

// askDecision speaks just enough MCP for one question.
func askDecision(ask io.Writer, answers io.Reader) (string, error) {
	lines := bufio.NewReader(answers)
	request := func(id int, method string, params any) (json.RawMessage, error) {
		text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
		if err != nil {
			return nil, fmt.Errorf("write a request: %w", err)
		}
		if _, err := ask.Write(append(text, '\n')); err != nil {
			return nil, fmt.Errorf("ask over MCP: %w", err)
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return nil, fmt.Errorf("read an answer over MCP: %w", err)
			}
			var a struct {
				ID     int             `json:"id"`
				Result json.RawMessage `json:"result"`
				Error  json.RawMessage `json:"error"`
			}
			if err := json.Unmarshal(line, &a); err != nil {
				return nil, fmt.Errorf("read an answer over MCP: %w", err)
			}
			if a.ID != id {
				continue // a notification
			}
			if a.Error != nil {
				return nil, fmt.Errorf("ask over MCP: %s", a.Error)
			}
			return a.Result, nil
		}
	}
	if _, err := request(1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "demo", "version": version}}); err != nil {
		return "", err
	}
	if _, err := io.WriteString(ask, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return "", fmt.Errorf("ask over MCP: %w", err)
	}
	raw, err := request(2, "tools/call", map[string]any{"name": "get_migration_decision",
		"arguments": map[string]any{"session": liveThread, "target_model": "gpt-4"}})
	if err != nil {
		return "", err
	}
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Content) == 0 {
		return "", errors.Join(errors.New("the answer over MCP has no text"), err)
	}
	return r.Content[0].Text, nil
}
