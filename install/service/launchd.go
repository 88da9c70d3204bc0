package service

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/session-migrator/session-migrator/install/plan"
)

// umask as launchd wants it: decimal, of 077.
const plistUmask = 0o077

// plist renders the launchd agent.
func (s Spec) plist() []byte {
	var b strings.Builder
	b.WriteString(xml.Header)
	b.WriteString(`<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">` + "\n")
	b.WriteString("<!-- " + mark + " -->\n<plist version=\"1.0\">\n<dict>\n")
	pair := func(key, value string) { fmt.Fprintf(&b, "\t<key>%s</key>\n\t%s\n", key, value) }
	text := func(s string) string { return "<string>" + escapeXML(s) + "</string>" }
	pair("Label", text(Label))
	pair("ProgramArguments", "<array>")
	for _, a := range append([]string{s.Program}, s.Args...) {
		b.WriteString("\t\t" + text(a) + "\n")
	}
	b.WriteString("\t</array>\n")
	if s.Host.System {
		pair("UserName", text(s.Host.User))
	}
	pair("RunAtLoad", "<true/>")
	pair("KeepAlive", "<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>")
	pair("ThrottleInterval", "<integer>10</integer>")
	pair("ProcessType", text("Background"))
	pair("LowPriorityIO", "<true/>")
	pair("Umask", fmt.Sprintf("<integer>%d</integer>", plistUmask))
	pair("ExitTimeOut", "<integer>30</integer>")
	// The daemon keeps a log of its own; here is what a crash says.
	crash := strings.TrimSuffix(s.Host.LogFile(s.Data), ".log") + ".crash.log"
	pair("StandardOutPath", text("/dev/null"))
	pair("StandardErrorPath", text(crash))
	b.WriteString("</dict>\n</plist>\n")
	return []byte(b.String())
}

func escapeXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}

// parsePlist gives the ProgramArguments of a plist.
func parsePlist(text []byte) ([]string, error) {
	d := xml.NewDecoder(strings.NewReader(string(text)))
	var out []string
	last, in := "", false
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "key":
				if err := d.DecodeElement(&last, &t); err != nil {
					return nil, err
				}
			case "array":
				in = last == "ProgramArguments"
			case "string":
				var s string
				if err := d.DecodeElement(&s, &t); err != nil {
					return nil, err
				}
				if in {
					out = append(out, s)
				}
			}
		case xml.EndElement:
			in = in && t.Name.Local != "array"
		}
	}
}

func (h Host) domain() string {
	if h.System {
		return "system"
	}
	return "gui/" + h.UID
}

func (h Host) launchTarget() string { return h.domain() + "/" + Label }

// bootTries: launchd lets go of a service some time after bootout has ended.
const bootTries = 10

func (s Spec) launchd() (plan.Plan, error) {
	h := s.Host
	mode := filepathMode(h.System)
	file, err := plan.Write(h.Definition(), s.plist(), mode, "the service: what runs, and when it is started again")
	if err != nil {
		return plan.Plan{}, err
	}
	target, loaded := h.launchTarget(), []string{"launchctl", "print", h.launchTarget()}
	p := plan.Plan{Steps: []plan.Step{
		file,
		{Why: "one that runs is let go of", Command: &plan.Command{Argv: []string{"launchctl", "bootout", target}, Follows: true, Tolerated: true, Quiet: true}},
		{Why: "it may run", Command: &plan.Command{Argv: []string{"launchctl", "enable", target}, Follows: true, Tolerated: true, Quiet: true}},
		{Why: "starts now and at login", Command: &plan.Command{
			Argv: []string{"launchctl", "bootstrap", h.domain(), h.Definition()}, Undo: []string{"launchctl", "bootout", target},
			Check: loaded, Renews: true, Tries: bootTries, UndoTolerated: true,
		}},
	}}
	if s.Restart {
		p.Steps = append(p.Steps, plan.Step{Why: "the version that runs is not this one", Command: &plan.Command{Argv: []string{"launchctl", "kickstart", "-k", target}}})
	}
	p.Notes = append(p.Notes, "its log is "+filepath.ToSlash(h.LogFile(s.Data)))
	return p, nil
}
