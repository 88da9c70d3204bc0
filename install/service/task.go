package service

import (
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf16"

	"github.com/session-migrator/session-migrator/install/plan"
)

func filepathMode(system bool) fs.FileMode {
	if system {
		return 0o644
	}
	return 0o600
}

// taskXML renders the task. It starts at the login of this user and of nobody
// else: a trigger for all needs an administrator.
func (s Spec) taskXML() string {
	user := escapeXML(s.Host.User)
	return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>` + description + `. ` + mark + `</Description>
    <URI>\` + escapeXML(s.Host.taskName()) + `</URI>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>` + user + `</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>` + user + `</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>
    <IdleSettings>
      <StopOnIdleEnd>false</StopOnIdleEnd>
      <RestartOnIdle>false</RestartOnIdle>
    </IdleSettings>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>true</Enabled>
    <Hidden>false</Hidden>
    <RunOnlyIfIdle>false</RunOnlyIfIdle>
    <WakeToRun>false</WakeToRun>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>7</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>` + escapeXML(s.Program) + `</Command>
      <Arguments>` + escapeXML(windowsArgs(s.Args)) + `</Arguments>
    </Exec>
  </Actions>
</Task>
`
}

// utf16LE encodes text as schtasks wants it: little endian, with a mark.
func utf16LE(text string) []byte {
	units := utf16.Encode([]rune("\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")))
	out := make([]byte, 0, 2*len(units))
	for _, u := range units {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}

// windowsArgs writes arguments as a program on Windows takes them apart again.
func windowsArgs(args []string) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(windowsArg(a))
	}
	return b.String()
}

func windowsArg(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\"") {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for i := range len(s) {
		switch s[i] {
		case '\\':
			slashes++
		case '"':
			b.WriteString(strings.Repeat(`\`, slashes+1)) // those before a quote count double
			slashes = 0
		default:
			slashes = 0
		}
		b.WriteByte(s[i])
	}
	b.WriteString(strings.Repeat(`\`, slashes) + `"`)
	return b.String()
}

// splitWindows is the reverse of windowsArgs.
func splitWindows(line string) []string {
	var out []string
	var word strings.Builder
	in, quoted, slashes := false, false, 0
	for i := range len(line) {
		c := line[i]
		switch c {
		case '\\':
			slashes++
			in = true
			continue
		case '"':
			word.WriteString(strings.Repeat(`\`, slashes/2))
			if slashes%2 == 1 {
				word.WriteByte('"')
			} else {
				quoted = !quoted
			}
			slashes, in = 0, true
			continue
		}
		word.WriteString(strings.Repeat(`\`, slashes))
		slashes = 0
		if (c == ' ' || c == '\t') && !quoted {
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
			continue
		}
		in = true
		word.WriteByte(c)
	}
	word.WriteString(strings.Repeat(`\`, slashes))
	if in {
		out = append(out, word.String())
	}
	return out
}

// parseTask gives the command of a task and its arguments.
func parseTask(text string) (program string, args []string, ours bool, err error) {
	var t struct {
		Description string `xml:"RegistrationInfo>Description"`
		Command     string `xml:"Actions>Exec>Command"`
		Arguments   string `xml:"Actions>Exec>Arguments"`
	}
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is decoded already
	if err := d.Decode(&t); err != nil {
		return "", nil, false, err
	}
	if t.Command == "" {
		return "", nil, false, errors.New("the task runs no program")
	}
	return t.Command, splitWindows(t.Arguments), strings.Contains(t.Description, mark), nil
}

// taskName is this user's: the scheduler's names are for the whole machine.
func (h Host) taskName() string {
	user := h.User
	if i := strings.LastIndexByte(user, '\\'); i >= 0 {
		user = user[i+1:]
	}
	return Name + "-" + user
}

// TaskFile is where the task's definition lies for schtasks to read.
func TaskFile(data string) string { return filepath.Join(data, "service-task.xml") }

func (s Spec) task() (plan.Plan, error) {
	file, err := plan.Write(TaskFile(s.Data), utf16LE(s.taskXML()), 0, "the service: what runs, and when it is started again")
	if err != nil {
		return plan.Plan{}, err
	}
	name := s.Host.taskName()
	var p plan.Plan
	p.Steps = []plan.Step{
		file,
		{Why: "one that runs is ended", Command: &plan.Command{Argv: []string{"schtasks", "/End", "/TN", name}, Follows: true, Tolerated: true, Quiet: true}},
		{Why: "starts at login", Command: &plan.Command{
			Argv: []string{"schtasks", "/Create", "/TN", name, "/XML", TaskFile(s.Data), "/F"}, Undo: []string{"schtasks", "/Delete", "/TN", name, "/F"},
			Check: []string{"schtasks", "/Query", "/TN", name}, Renews: true,
		}},
		{Why: "what runs is ended", Command: &plan.Command{Undo: []string{"schtasks", "/End", "/TN", name}, UndoTolerated: true}},
	}
	if s.Restart {
		p.Steps = append(p.Steps, plan.Step{Why: "the version that runs is not this one", Command: &plan.Command{Argv: []string{"schtasks", "/End", "/TN", name}, Tolerated: true, Quiet: true}})
	}
	p.Steps = append(p.Steps, plan.Step{Why: "runs now", Command: &plan.Command{Argv: []string{"schtasks", "/Run", "/TN", name}, Follows: !s.Restart}})
	p.Notes = append(p.Notes, "its log is "+s.Host.LogFile(s.Data))
	return p, nil
}

// runKeyPath is where Windows keeps what starts at this user's login.
const runKeyPath = `HKCU\Software\Microsoft\Windows\CurrentVersion\Run`

func (s Spec) runKey() plan.Plan {
	line := windowsArgs(append([]string{s.Program}, s.Args...))
	add := plan.Command{
		Argv: []string{"reg", "add", runKeyPath, "/v", Name, "/t", "REG_SZ", "/d", line, "/f"},
		Undo: []string{"reg", "delete", runKeyPath, "/v", Name, "/f"},
	}
	if w := s.Was; w != nil && w.Manager == RunKey && windowsArgs(append([]string{w.Program}, w.Args...)) == line {
		add.Check = []string{"reg", "query", runKeyPath, "/v", Name}
	}
	run := plan.Command{Argv: append([]string{startDetached, s.Program}, s.Args...), Check: []string{serviceRuns}, Renews: true}
	p := plan.Plan{Steps: []plan.Step{
		{Why: "starts at login", Command: &add},
		{Why: "what runs is ended", Command: &plan.Command{Undo: []string{endService}, UndoTolerated: true}},
		{Why: "one that runs is ended", Command: &plan.Command{Argv: []string{endService}, Follows: !s.Restart, Tolerated: true, Quiet: true}},
		{Why: "runs now", Command: &run},
	}}
	p.Notes = append(p.Notes, "its log is "+s.Host.LogFile(s.Data))
	return p
}

func (s Spec) scm() (plan.Plan, error) {
	if !s.Host.System || s.Host.User == "" {
		return plan.Plan{}, fmt.Errorf("%w: the service manager of Windows needs --system --user NAME: its own account has no Codex sessions", ErrRefused)
	}
	p := plan.Plan{Steps: []plan.Step{
		{Why: "starts with the machine, as " + s.Host.User, Command: &plan.Command{
			Argv: append([]string{manageService, "install", s.Host.User, s.Program}, s.Args...), Undo: []string{manageService, "uninstall"}, Check: []string{manageService, "installed"},
		}},
		{Why: "what runs is ended", Command: &plan.Command{Undo: []string{manageService, "stop"}, UndoTolerated: true}},
	}}
	if s.Restart {
		p.Steps = append(p.Steps, plan.Step{Why: "the version that runs is not this one", Command: &plan.Command{Argv: []string{manageService, "stop"}, Tolerated: true}})
	}
	p.Steps = append(p.Steps, plan.Step{Why: "runs now", Command: &plan.Command{Argv: []string{manageService, "start"}, Check: []string{manageService, "running"}, Renews: true}})
	return p, nil
}
