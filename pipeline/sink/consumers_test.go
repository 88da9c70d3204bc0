package sink_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/session-migrator/session-migrator/pipeline/sink"
	"github.com/session-migrator/session-migrator/pipeline/sink/sinktest"
)

// machine is a home folder with a project, in which every consumer is at home.
type machine struct {
	home, project string
	env           sink.Env
}

func newMachine(t *testing.T) machine {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := machine{home: home, project: filepath.Join(home, "code", "ledgerkit")}
	m.env = sink.Env{User: home, Data: filepath.Join(home, ".session-migrator"), Drop: filepath.Join(home, ".session-migrator", "memory"), Vars: map[string]string{}, Zone: time.FixedZone("", 8*3600)}
	m.folder(t, "code", "ledgerkit", ".git")
	return m
}

// folder makes a folder below the home folder.
func (m machine) folder(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{m.home}, elem...)...)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// open opens the sink of a consumer.
func (m machine) open(t *testing.T, name string, c sink.Choice) sink.Sink {
	t.Helper()
	s, err := m.tryOpen(name, c)
	if err != nil {
		t.Fatal(err)
	}
	if closer, ok := s.(interface{ Close() error }); ok {
		t.Cleanup(func() {
			if err := closer.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return s
}

func (m machine) tryOpen(name string, c sink.Choice) (sink.Sink, error) {
	all := sink.Consumers()
	i := slices.IndexFunc(all, func(c sink.Consumer) bool { return c.Name == name })
	if i < 0 {
		return nil, errors.New("no consumer " + name)
	}
	return all[i].Open(m.env, c)
}

func (m machine) subject(t *testing.T, name string, c sink.Choice, roots ...string) sinktest.Subject {
	t.Helper()
	return sinktest.Subject{
		Sink: m.open(t, name, c), Home: m.home, Workspace: m.project, Cwd: m.project,
		Roots: append(roots, m.env.Data, m.env.Drop),
	}
}

// flat is a path as a dash-separated name, for the memory folders of agents.
func flat(dir string) string {
	return strings.NewReplacer("/", "-", `\`, "-", ":", "-", ".", "-", "_", "-").Replace(dir)
}

// subjects makes the sink of each consumer on a machine of its own.
var subjects = map[string]sinktest.Open{
	"drop": func(t *testing.T) sinktest.Subject {
		m := newMachine(t)
		s := m.subject(t, "drop", sink.Choice{})
		s.Dir = m.env.Drop
		return s
	},
	"workbuddy": func(t *testing.T) sinktest.Subject {
		m := newMachine(t)
		own := m.folder(t, "code", "ledgerkit", ".workbuddy")
		m.folder(t, ".workbuddy")
		s := m.subject(t, "workbuddy", sink.Choice{}, filepath.Join(own, "memory"))
		s.Updates = 200
		s.Files = []sinktest.File{{Path: filepath.Join(own, "memory", "MEMORY.md"), Units: 7500, PartUnits: 1000}}
		return s
	},
	"workbuddy-global": func(t *testing.T) sinktest.Subject {
		m := newMachine(t)
		own := m.folder(t, ".workbuddy")
		s := m.subject(t, "workbuddy-global", sink.Choice{}, own)
		s.Bare = true
		s.Files = []sinktest.File{{Path: filepath.Join(own, "MEMORY.md"), Units: 3600, PartUnits: 400, All: true}}
		return s
	},
	"codebuddy": func(t *testing.T) sinktest.Subject {
		m := newMachine(t)
		slug := strings.Trim(strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(m.project), "-")
		own := m.folder(t, ".codebuddy", "projects", slug, "memory")
		s := m.subject(t, "codebuddy", sink.Choice{}, own)
		s.Files = []sinktest.File{{Path: filepath.Join(own, "MEMORY.md"), Units: 38_000, Lines: 190, PartUnits: 1000}}
		return s
	},
	"claude": func(t *testing.T) sinktest.Subject {
		m := newMachine(t)
		own := m.folder(t, ".claude")
		s := m.subject(t, "claude", sink.Choice{}, filepath.Join(own, "projects"))
		s.Files = []sinktest.File{{Path: filepath.Join(own, "projects", flat(m.project), "memory", "MEMORY.md"), Bytes: 24_000, Lines: 190, PartUnits: 1000}}
		return s
	},
	"openclaw": func(t *testing.T) sinktest.Subject {
		m := newMachine(t)
		own := m.folder(t, ".openclaw", "workspace")
		return m.subject(t, "openclaw", sink.Choice{}, filepath.Join(own, "memory"))
	},
	"obsidian": func(t *testing.T) sinktest.Subject {
		m := newMachine(t)
		own := m.folder(t, "vault", "Codex")
		s := m.subject(t, "obsidian", sink.Choice{Dir: own}, own)
		s.Dir = own
		return s
	},
	"agents-md": func(t *testing.T) sinktest.Subject {
		s := projectSubject(t, "agents-md", "")
		s.Files = []sinktest.File{{Path: filepath.Join(s.Workspace, "AGENTS.md"), Bytes: 32 << 10, PartUnits: 1000, PartBytes: 1000}}
		s.Roots = append(s.Roots, s.Files[0].Path)
		return s
	},
	"gemini": func(t *testing.T) sinktest.Subject {
		s := projectSubject(t, "gemini", "")
		s.Files = []sinktest.File{{Path: filepath.Join(s.Workspace, "GEMINI.md"), Bytes: 32 << 10, PartUnits: 1000, PartBytes: 1000}}
		s.Roots = append(s.Roots, s.Files[0].Path)
		return s
	},
	"cursor": func(t *testing.T) sinktest.Subject {
		s := projectSubject(t, "cursor", ".cursor")
		s.Files = []sinktest.File{{Path: filepath.Join(s.Workspace, ".cursor", "rules", "session-migrator.mdc"), Whole: true, Units: 12_000}}
		s.Roots = append(s.Roots, filepath.Join(s.Workspace, ".cursor", "rules"))
		return s
	},
	"windsurf": func(t *testing.T) sinktest.Subject {
		s := projectSubject(t, "windsurf", ".windsurf")
		s.Files = []sinktest.File{{Path: filepath.Join(s.Workspace, ".windsurf", "rules", "session-migrator.md"), Whole: true, Units: 12_000}}
		s.Roots = append(s.Roots, filepath.Join(s.Workspace, ".windsurf", "rules"))
		return s
	},
	"copilot": func(t *testing.T) sinktest.Subject {
		s := projectSubject(t, "copilot", ".github")
		s.Files = []sinktest.File{{Path: filepath.Join(s.Workspace, ".github", "instructions", "session-migrator.instructions.md"), Whole: true, Units: 12_000}}
		s.Roots = append(s.Roots, filepath.Join(s.Workspace, ".github", "instructions"))
		return s
	},
	"handoff": func(t *testing.T) sinktest.Subject {
		s := projectSubject(t, "handoff", "")
		s.Files = []sinktest.File{{Path: filepath.Join(s.Workspace, "HANDOFF.md"), Whole: true, Units: 12_000, Lines: 99}}
		s.Roots = append(s.Roots, s.Files[0].Path)
		return s
	},
}

func projectSubject(t *testing.T, name, folder string) sinktest.Subject {
	t.Helper()
	m := newMachine(t)
	m.folder(t, "code", "ledgerkit", folder)
	s := m.subject(t, name, sink.Choice{Workspaces: []string{m.project}})
	s.Bare = true
	return s
}

func TestConsumersKeepTheContract(t *testing.T) {
	var names []string
	for _, c := range sink.Consumers() {
		names = append(names, c.Name)
		if c.About == "" || strings.Contains(c.About, "\n") || c.Mode < sink.ModeAlways || c.Mode > sink.ModeProject {
			t.Errorf("%+v", c)
		}
		open := subjects[c.Name]
		if open == nil {
			t.Errorf("%s is not tested", c.Name)
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			sinktest.Run(t, open)
		})
	}
	if got := strings.Join(names, " "); got != "drop workbuddy workbuddy-global codebuddy claude openclaw obsidian agents-md gemini cursor windsurf copilot handoff" {
		t.Errorf("the order is %s", got)
	}
}
