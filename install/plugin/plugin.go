// Package plugin holds what agents' stores and plugin folders are given of us;
// gen makes it. Of that the program itself needs one skill.
package plugin

import _ "embed" // a file beside this one

//go:embed workbuddy/skills/codex-handoff/SKILL.md
var handoff []byte

// Handoff gives the skill for programs that have skills but no plugins: the text
// of its SKILL.md.
func Handoff() []byte { return append([]byte(nil), handoff...) }
