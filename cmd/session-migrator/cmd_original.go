package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/session-migrator/session-migrator/pipeline/pattern"
	"github.com/session-migrator/session-migrator/pipeline/transcript"
	"github.com/session-migrator/session-migrator/store"
)

func newOriginalCommand(a *app) *cobra.Command {
	var session string
	cmd := &cobra.Command{
		Use:   "original REF…",
		Short: "Print the exact original text behind a reference",
		Long: `Prints the exact text that a reference in a memory or hand-over stands for, as
Codex recorded it: nothing is taken out, secrets included. One message is
printed alone, several each under a line that names it.

REF is om_… of any session, or t17 or t17-t30 with --session.

Exit codes: 0 printed, 2 wrong usage, 3 some references were not found, 10 no
cache and no Codex home, 12 none was found.`,
		Example: "  session-migrator original om_7f3a91c2.412\n  session-migrator original t3-t5 --session latest",
		Args:    args(1, -1, "at least one REF"),
		RunE: func(cmd *cobra.Command, refs []string) error {
			return runOriginal(cmd.Context(), a, refs, session)
		},
	}
	cmd.Flags().StringVar(&session, "session", "", "session that turn references belong to")
	completes(cmd, "session", func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.sessionIDs(cmd)
	})
	return cmd
}

type originalsJSON struct {
	Schema    int            `json:"schema"`
	Originals []originalJSON `json:"originals"`
	NotFound  []string       `json:"not_found"`
}

type originalJSON struct {
	Ref      string                `json:"ref"`
	Messages []originalMessageJSON `json:"messages"`
}

type originalMessageJSON struct {
	messageJSON
	Seq              int64  `json:"seq,omitempty"`  // left out where the ref says no thread
	Turn             int    `json:"turn,omitempty"` // likewise
	Rollout          string `json:"rollout_id"`
	SHA256           string `json:"sha256_16"` // first 16 bytes, of the whole text
	NoLongerInSource bool   `json:"no_longer_in_source"`
}

func runOriginal(ctx context.Context, a *app, refs []string, session string) error {
	r, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	id := ""
	if session != "" {
		if id, err = r.thread(ctx, session); err != nil {
			return err
		}
	}
	out := originalsJSON{Schema: 1, Originals: []originalJSON{}, NotFound: []string{}}
	var found []transcript.Message
	var missed []error // for when nothing is found
	var told []string  // for when something is
	for _, ref := range refs {
		ms, err := r.pipe.Original(ctx, ref, id, "")
		if errors.Is(err, store.ErrNotFound) {
			out.NotFound = append(out.NotFound, ref)
			missed = append(missed, err)
			told = append(told, ref)
			continue
		}
		if err != nil {
			return originalError(err)
		}
		gap, turns, err := r.beyond(ctx, ref, id)
		if err != nil {
			return err
		}
		if gap != "" {
			out.NotFound = append(out.NotFound, gap)
			told = append(told, fmt.Sprintf("%s (the session has turns 1 to %d)", gap, turns))
		}
		o := originalJSON{Ref: ref}
		for i := range ms {
			o.Messages = append(o.Messages, originalMessageJSON{messageOf(&ms[i]), ms[i].Position, ms[i].ThreadTurn, ms[i].RolloutID, ms[i].Hash, ms[i].Gone})
		}
		out.Originals = append(out.Originals, o)
		found = append(found, ms...)
	}
	if len(found) == 0 {
		return hinted(errors.Join(missed...), "a reference is copied whole, as it stands in the memory or hand-over; turn references need --session")
	}
	if a.flags.json {
		err = a.printJSON(out)
	} else {
		err = printOriginals(a, found)
	}
	if err == nil && len(told) > 0 {
		err = partlyError{"not found: " + strings.Join(told, ", ")}
	}
	return err
}

// turnRange is a reference to several turns.
var turnRange = pattern.Lazy(`^t(\d{1,9})-t(\d{1,9})$`)

// beyond names the turns of a reference that its session doesn't have, and how
// many it has; empty if it has them all.
func (r *reader) beyond(ctx context.Context, ref, threadID string) (gap string, turns int, err error) {
	m := turnRange().FindStringSubmatch(ref)
	if m == nil {
		return "", 0, nil
	}
	from, fromErr := strconv.Atoi(m[1])
	to, toErr := strconv.Atoi(m[2])
	t, err := r.db.Thread(ctx, threadID)
	if err := errors.Join(fromErr, toErr, err); err != nil {
		return "", 0, err
	}
	first := max(from, t.Turns+1)
	switch {
	case first > to:
		return "", t.Turns, nil
	case first == to:
		return "t" + m[2], t.Turns, nil
	}
	return fmt.Sprintf("t%d-t%s", first, m[2]), t.Turns, nil
}

// originalError tells a reference that can't be read from a fault of ours.
func originalError(err error) error {
	if _, ok := errors.AsType[*store.ChangedError](err); ok {
		return err
	}
	return hinted(usageError{err}, "a reference looks like om_7f3a91c2.412, t17 or t17-t30; turn references need --session SESSION")
}

func printOriginals(a *app, ms []transcript.Message) error {
	if len(ms) == 1 {
		return a.printText(ms[0].Body())
	}
	return a.printText(string(originalText(ms)))
}

// originalText is what was said, each message under a line that names it.
func originalText(ms []transcript.Message) []byte {
	var b bytes.Buffer
	for i := range ms {
		m := &ms[i]
		fmt.Fprintf(&b, "=== %s", m.Ref)
		if m.ThreadTurn > 0 {
			fmt.Fprintf(&b, "  turn %d", m.ThreadTurn)
		}
		fmt.Fprintf(&b, "  %s", m.Role)
		if m.Name != "" {
			fmt.Fprintf(&b, " %s", m.Name)
		}
		if m.HasExit {
			fmt.Fprintf(&b, "  exit %d", m.ExitCode)
		}
		if m.Gone {
			b.WriteString("  no longer in Codex's file")
		}
		b.WriteByte('\n')
		b.WriteString(m.Body())
		if !strings.HasSuffix(m.Body(), "\n") {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}
