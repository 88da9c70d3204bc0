package plan

import "os/exec"

// alone does nothing here: the command itself is ended.
func alone(*exec.Cmd) {}
