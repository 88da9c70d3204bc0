package service

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/session-migrator/session-migrator/install/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// odd are arguments that each kind of definition has to escape.
var odd = []string{
	"run", "--service", "x", "--home", "/home/da na/.session-migrator", "--codex-home", `/data/100% "co$dex"`, "--codex-home", "/data/<&'>\\",
	"--env", "HOME=/home/da na", "--env", "A=", "", `C:\Users\Da Na\`, `\\srv\x`, "it's; ünï",
}

func spec(t *testing.T, m Manager) Spec {
	t.Helper()
	home := t.TempDir()
	return Spec{
		Host:    Host{Manager: m, User: `PC\dana`, UID: "1000", Home: home},
		Program: "/opt/my progs/session-migrator", Args: odd, Data: filepath.Join(home, "data"),
	}
}

func TestUnitSaysWhatItMust(t *testing.T) {
	s := spec(t, Systemd)
	got := string(s.unit())
	for _, want := range []string{
		"Type=notify", "Restart=on-failure", "RestartSec=2", "StartLimitIntervalSec=60", "StartLimitBurst=5", "WatchdogSec=60", "UMask=0077", "Nice=10",
		"NoNewPrivileges=yes", "MemoryMax=512M", "RestartPreventExitStatus=2 11", "WantedBy=default.target",
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "User=") || strings.Contains(got, "multi-user") {
		t.Errorf("a user's unit names a user or a target of the machine's:\n%s", got)
	}
	s.Host.System, s.Host.User = true, "dana"
	if got := string(s.unit()); !strings.Contains(got, "\nUser=dana\n") || !strings.Contains(got, "\nWantedBy=multi-user.target\n") {
		t.Errorf("the machine's unit:\n%s", got)
	}
}

// What each manager would start is what was asked for.
func TestArgumentsSurviveEachDefinition(t *testing.T) {
	want := append([]string{"/opt/my progs/session-migrator"}, odd...)
	t.Run("systemd", func(t *testing.T) {
		if got := parseExecStart(execStart(want[0], want[1:])); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
	t.Run("launchd", func(t *testing.T) {
		s := spec(t, Launchd)
		got, err := parsePlist(s.plist())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q\nerror %v", got, want, err)
		}
	})
	t.Run("task", func(t *testing.T) {
		s := spec(t, Task)
		program, args, ours, err := parseTask(fromUTF16(string(utf16LE(s.taskXML()))))
		if got := append([]string{program}, args...); err != nil || !ours || !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q\nours %v, error %v", got, want, ours, err)
		}
	})
}

// systemd's own quoting rules, on the line that it would read.
func TestExecStartIsQuotedAsSystemdReads(t *testing.T) {
	got := execStart("/a b/$x", []string{"plain", "a b", "50%", "$HOME", `q"\`, "", "a;b"})
	if want := `"/a b/$x" plain "a b" 50%% $$HOME "q\"\\" "" "a;b"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestUnitPassesSystemdsCheck(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here:", err)
	}
	s := spec(t, Systemd)
	s.Program = analyze // it must be there
	path := filepath.Join(t.TempDir(), Name+".service")
	if err := os.WriteFile(path, s.unit(), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(analyze, "verify", "--user", "--man=no", path)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	out, err := c.CombinedOutput()
	// It ends with 0 where it knows a key not: what it says counts.
	var said []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, Name) {
			said = append(said, line)
		}
	}
	if err != nil && len(said) == 0 {
		t.Skipf("systemd-analyze does not work here: %v: %s", err, out)
	}
	if len(said) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	// The check can fail.
	if err := os.WriteFile(path, append(s.unit(), "[Service]\nNoSuchKey=1\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	c = exec.Command(analyze, "verify", "--user", "--man=no", path)
	c.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
	if out, _ := c.CombinedOutput(); !bytes.Contains(out, []byte("NoSuchKey")) {
		t.Errorf("an unknown key is not told: %s", out)
	}
}

func TestPlist(t *testing.T) {
	s := spec(t, Launchd)
	got := strings.Join(strings.Fields(string(s.plist())), "")
	for _, want := range []string{
		"<key>RunAtLoad</key><true/>", "<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>", "<key>ThrottleInterval</key><integer>10</integer>",
		"<key>ProcessType</key><string>Background</string>", "<key>LowPriorityIO</key><true/>", "<key>Umask</key><integer>63</integer>", "/Library/Logs/session-migrator.crash.log",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, s.plist())
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3, which reads plists strictly, is not here:", err)
	}
	read := func(text []byte) (string, error) {
		c := exec.Command(python, "-c", "import plistlib,sys;p=plistlib.load(sys.stdin.buffer,fmt=plistlib.FMT_XML);print(p['Label'],p['Umask'],len(p['ProgramArguments']),p['KeepAlive'],p['RunAtLoad'])")
		c.Stdin = bytes.NewReader(text)
		out, err := c.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	said, err := read(s.plist())
	if want := fmt.Sprintf("%s 63 %d {'SuccessfulExit': False} True", Label, len(odd)+1); err != nil || said != want {
		t.Errorf("read as %q, %v; want %q", said, err, want)
	}
	if said, err := read(bytes.Replace(s.plist(), []byte("</dict>"), nil, 1)); err == nil {
		t.Errorf("a broken one is read as %q", said)
	}
}

func TestTaskIsOfThisUserAndIsNotCutShort(t *testing.T) {
	s := spec(t, Task)
	raw := utf16LE(s.taskXML())
	if !bytes.HasPrefix(raw, []byte{0xff, 0xfe, '<', 0}) {
		t.Errorf("begins with % x, want the mark of UTF-16 LE", raw[:4])
	}
	var task struct {
		XMLName  xml.Name `xml:"http://schemas.microsoft.com/windows/2004/02/mit/task Task"`
		Version  string   `xml:"version,attr"`
		Triggers struct {
			Logon []struct {
				UserID string `xml:"UserId"`
			} `xml:"LogonTrigger"`
		}
		Principal struct {
			UserID    string `xml:"UserId"`
			LogonType string
			RunLevel  string
		} `xml:"Principals>Principal"`
		Settings struct {
			ExecutionTimeLimit string
			Batteries          string `xml:"DisallowStartIfOnBatteries"`
			Restart            struct {
				Interval string
				Count    int
			} `xml:"RestartOnFailure"`
		}
	}
	d := xml.NewDecoder(strings.NewReader(strings.Replace(fromUTF16(string(raw)), "UTF-16", "UTF-8", 1)))
	if err := d.Decode(&task); err != nil {
		t.Fatal(err)
	}
	if len(task.Triggers.Logon) != 1 || task.Triggers.Logon[0].UserID != `PC\dana` {
		t.Errorf("triggers %+v: without a user a task needs an administrator", task.Triggers)
	}
	if p := task.Principal; p.UserID != `PC\dana` || p.LogonType != "InteractiveToken" || p.RunLevel != "LeastPrivilege" {
		t.Errorf("principal %+v", p)
	}
	if s := task.Settings; s.ExecutionTimeLimit != "PT0S" || s.Batteries != "false" || s.Restart.Interval != "PT1M" || s.Restart.Count != 255 {
		t.Errorf("settings %+v", s)
	}
}

// manager is a Runner that behaves as a service manager does. done are command
// lines after which a check succeeds.
type manager struct {
	ran  []string
	done map[string]bool
}

func (m *manager) Run(_ context.Context, argv []string) (string, error) {
	line := plan.Quote(argv)
	for _, check := range []struct{ line, by string }{
		{"systemctl --user is-enabled --quiet session-migrator.service", "systemctl --user enable session-migrator.service"},
		{"systemctl --user is-active --quiet session-migrator.service", "start"},
		{"launchctl print gui/1000/" + Label, "launchctl bootstrap"},
		{"schtasks /Query /TN session-migrator-dana", "schtasks /Create"},
		{serviceRuns, startDetached},
		{manageService + " installed", manageService + " install "},
		{manageService + " running", manageService + " start"},
		{"reg query " + runKeyPath + " /v session-migrator", "reg add"},
	} {
		if line == check.line {
			for l := range m.done {
				if strings.Contains(l, check.by) {
					return "", nil
				}
			}
			return "", errors.New("no")
		}
	}
	m.ran = append(m.ran, line)
	m.done[line] = true
	return "", nil
}

// verbs is what a list of commands does, without their arguments.
func verbs(lines []string) string {
	var out []string
	for _, l := range lines {
		w := strings.Fields(l)
		switch w[0] {
		case "systemctl":
			out = append(out, w[2])
		case startDetached, endService:
			out = append(out, w[0])
		default:
			out = append(out, w[1])
		}
	}
	return strings.Join(out, " ")
}

func TestInstallUpgradeUninstall(t *testing.T) {
	for _, c := range []struct {
		manager                           Manager
		install, upgrade, change, removed string
	}{
		{Systemd, "daemon-reload enable reset-failed start", "restart", "daemon-reload reset-failed restart", "disable daemon-reload"},
		{Launchd, "bootout enable bootstrap", "kickstart", "bootout enable bootstrap", "bootout"},
		{Task, "/End /Create /Run", "/End /Run", "/End /Create /Run", "/End /Delete"},
		{RunKey, "add end-service start-in-background", "end-service start-in-background", "add end-service start-in-background", "end-service delete"},
		{SCM, "install start", "stop start", "", "stop uninstall"},
	} {
		t.Run(c.manager.String(), func(t *testing.T) {
			s := spec(t, c.manager)
			s.Host.User = "dana"
			s.Host.System = c.manager == SCM
			m := &manager{done: map[string]bool{}}
			j := plan.Journal{Dir: filepath.Join(s.Data, "receipts")}
			apply := func(what, want string) {
				t.Helper()
				p, err := s.Plan()
				if err != nil {
					t.Fatal(err)
				}
				m.ran = nil
				if _, err := j.Apply(t.Context(), p, m); err != nil {
					t.Fatal(err)
				}
				if got := verbs(m.ran); got != want {
					t.Errorf("%s ran %q, want %q", what, got, want)
				}
				s.Was = &Installed{Manager: c.manager, Program: s.Program, Args: s.Args, Ours: true}
			}
			apply("install", c.install)
			apply("install again", "")
			s.Restart = true
			apply("upgrade", c.upgrade)
			s.Restart = false
			if c.change != "" {
				s.Program += "-2"
				apply("another program", c.change)
			}
			m.ran = nil
			if out, err := j.Undo(t.Context(), JournalName, m); err != nil || len(out.Left) > 0 {
				t.Fatal(out, err)
			}
			if got := verbs(m.ran); got != c.removed {
				t.Errorf("uninstall ran %q, want %q", got, c.removed)
			}
			var left []string
			_ = filepath.WalkDir(s.Host.Home, func(path string, _ os.DirEntry, _ error) error {
				left = append(left, strings.TrimPrefix(path, s.Host.Home))
				return nil
			})
			if len(left) != 1 && !slices.Equal(left, []string{"", "/data"}) {
				t.Errorf("left are %q", left)
			}
		})
	}
}

func TestFindReadsWhatWasInstalled(t *testing.T) {
	for _, m := range []Manager{Systemd, Launchd} {
		s := spec(t, m)
		if i, err := s.Host.Find(t.Context(), nil); i != nil || err != nil {
			t.Fatalf("%s: found %v, %v before the install", m, i, err)
		}
		p, err := s.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Do(t.Context(), &manager{done: map[string]bool{}}); err != nil {
			t.Fatal(err)
		}
		i, err := s.Host.Find(t.Context(), nil)
		if err != nil || i == nil || !i.Ours || i.Program != s.Program || i.Arg("--home") != "/home/da na/.session-migrator" || len(i.ArgAll("--codex-home")) != 2 {
			t.Fatalf("%s: found %+v, %v", m, i, err)
		}
		if out, err := i.Removal(s.Host); err != nil || len(out.Steps) < 2 {
			t.Errorf("%s: removal %v, %v", m, out, err)
		}
	}
}

// answers is a Runner with fixed answers.
type answers map[string]string

func (a answers) Run(_ context.Context, argv []string) (string, error) {
	out, ok := a[argv[0]]
	if !ok {
		return "", errors.New("no such thing")
	}
	return out, nil
}

func TestFindOnWindows(t *testing.T) {
	h := Host{Manager: Task, User: `PC\dana`}
	s := spec(t, Task)
	i, err := h.Find(t.Context(), answers{"schtasks": string(utf16LE(s.taskXML()))})
	if err != nil || i == nil || i.Manager != Task || !i.Ours || i.Program != s.Program || !slices.Equal(i.Args, odd) {
		t.Errorf("found %+v, %v", i, err)
	}
	i, err = h.Find(t.Context(), answers{"reg": "\r\nHKEY_CURRENT_USER\\Software\\Microsoft\\Windows\\CurrentVersion\\Run\r\n    session-migrator    REG_SZ    \"C:\\Da Na\\sm.exe\" run --home C:\\x\r\n\r\n"})
	if err != nil || i == nil || i.Manager != RunKey || i.Program != `C:\Da Na\sm.exe` || i.Arg("--home") != `C:\x` {
		t.Errorf("found %+v, %v", i, err)
	}
	for _, none := range []answers{{}, {"schtasks": ""}} { // Wine's schtasks takes everything and says nothing
		if i, err := h.Find(t.Context(), none); i != nil || err != nil {
			t.Errorf("found %+v, %v", i, err)
		}
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		said string
		want State
	}{
		{"ActiveState=active\nSubState=running\nMainPID=12\nUnitFileState=enabled\nResult=success\nExecMainStatus=0\n", State{Enabled: true, Active: "active", PID: 12}},
		{"ActiveState=failed\nSubState=failed\nMainPID=0\nUnitFileState=enabled\nResult=exit-code\nExecMainStatus=11\n", State{Enabled: true, Active: "failed", Detail: "ended with exit code 11"}},
		{"ActiveState=activating\nSubState=auto-restart\nMainPID=0\nUnitFileState=disabled\nResult=watchdog\nExecMainStatus=6\n", State{Active: "activating", Detail: "ended with watchdog, is started again"}},
	} {
		if got := systemdState(c.said); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
	said := "gui/501/x = {\n\tactive count = 1\n\tstate = running\n\n\tpid = 77\n\tlast exit code = 1\n}\n"
	if got, want := launchdState(said), (State{Enabled: true, Active: "active", PID: 77}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	said = "gui/501/x = {\n\tstate = not running\n\tlast exit code = 11: EX\n}\n"
	if got := launchdState(said); got.Active != "inactive" || !strings.Contains(got.Detail, "11") {
		t.Errorf("got %+v", got)
	}
}

func TestProgramIsWhatAnUpgradeMoves(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a right here")
	}
	dir := t.TempDir()
	real := filepath.Join(dir, "Cellar", "session-migrator", "1.2.3", "bin", "session-migrator")
	bin := filepath.Join(dir, "bin", "session-migrator")
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.MkdirAll(filepath.Dir(real), 0o700), os.MkdirAll(filepath.Dir(bin), 0o700), os.WriteFile(real, nil, 0o700), os.WriteFile(other, nil, 0o700), os.Symlink(real, bin)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		p    Places
		want string
	}{
		{"called by its link", Places{Executable: real, Invoked: bin}, bin},
		{"found on the path", Places{Executable: real, OnPath: bin}, bin},
		{"called by the version's own path", Places{Executable: real, Invoked: real, OnPath: bin}, bin},
		{"another one on the path", Places{Executable: real, OnPath: other}, real},
		{"nothing known", Places{Executable: other}, other},
	} {
		if got, err := Program(c.p); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	for _, p := range []Places{
		{Executable: other, Temp: []string{dir}},
		{Executable: "/home/dana/.cache/go-build/ab/session-migrator"},
		{Executable: "/tmp/go-build123/b001/exe/session-migrator"},
		{Executable: "/private/var/folders/x/AppTranslocation/y/session-migrator"},
		{Executable: "/usr/bin/session-migrator (deleted)"},
	} {
		if got, err := Program(p); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: got %s, %v; want a refusal", p.Executable, got, err)
		}
	}
}

func TestControlCharactersAreRefused(t *testing.T) {
	for _, m := range []Manager{Systemd, Launchd, Task, RunKey} {
		s := spec(t, m)
		s.Args = []string{"run", "--home", "/a\nExecStartPre=/bin/evil"}
		if _, err := s.Plan(); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", m, err)
		}
	}
	s := spec(t, SCM)
	if _, err := s.Plan(); !errors.Is(err, ErrRefused) {
		t.Errorf("the machine's account: %v", err)
	}
}
