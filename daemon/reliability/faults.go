package reliability

// Row is a fault or a goal.
type Row struct {
	N         int
	What      string // the fault, or the goal as a figure
	Expected  string // of a fault: what the program must do
	Elsewhere string // what of it can't be had on Linux, or isn't built yet; empty for nothing
	Later     bool   // no test is expected yet
}

// Faults gives all faults, by number.
func Faults() []Row {
	return []Row{
		{1, "killed at a random moment", "after the restart the cache says what the files say", "", false},
		{2, "killed after reading, before the transaction", "nothing has moved", "", false},
		{3, "killed in the middle of a batch, or just before its commit", "the batch is rolled back and read again", "", false},
		{4, "killed after the commit, before the memory file is written", "the memory file is written after the restart", "", false},
		{5, "killed while a temporary file is written, or before it is moved into place", "the old file is whole, the temporary is swept", "", false},
		{6, "killed while a new generation starts", "the old or the new generation, never a mix", "", false},
		{7, "killed before the k-th call of a kind to the system", "after the restart the cache says what the files say", "", false},
		{8, "power loss: the end of the WAL lost or garbled", "an older state, and the rest read again", "", false},
		{9, "a commit fails (EIO)", "rolled back and tried again; nothing moved", "", false},
		{10, "fsync fails, also at the start", "the commit is an error, nothing moved; tried again", "", false},
		{11, "a slow disk", "reading and answering go on; intake is slowed, nothing dropped", "", false},
		{12, "the disk of the cache is full", "intake pauses, answers go on; caught up after space is there, without a restart", "", false},
		{13, "the disk of the drop folder is full", "the old file stays, no temporary is left; the cache goes on", "", false},
		{14, "over quota; a file system that became read-only", "as with a full disk, with one message", "", false},
		{15, "an unfinished last line", "waits, and is taken in once when it is complete", "", false},
		{16, "a torn line with its repetition glued to it", "the whole record is taken in, the rest is named as damage", "", false},
		{17, "a run of NULs in the middle or at the end", "passed over and counted; what follows is taken in", "", false},
		{18, "a lost line end between two records", "both records are taken in", "", false},
		{19, "two writers' lines mixed", "the whole record inside is taken in, the rest is counted", "", false},
		{20, "invalid UTF-8, lone surrogates, a key twice, 10,000 levels, 1e400", "as a strict parser reads it, or damage; never a panic", "", false},
		{21, "a line of 50 MiB; one over 64 MiB", "taken in; passed over with its size and type; memory bounded", "", false},
		{22, "byte order mark, CRLF, blank lines", "accepted", "", false},
		{23, "cut to nothing and written anew", "a new generation; what was there stays, marked", "", false},
		{24, "cut and grown past the cursor with other content", "a new generation", "", false},
		{25, "replaced by a file with the same beginning", "reading goes on; nothing twice", "", false},
		{26, "deleted and made anew with the same inode", "a new generation", "", false},
		{27, "plain to compressed and back, with the old time put back", "reading goes on at the logical offset; nothing twice", "", false},
		{28, "a cut or garbled compressed file; a compression bomb", "nothing moves, tried again; the limit is named as the reason", "", false},
		{29, "moved to archived_sessions", "the path is renewed, nothing read again", "", false},
		{30, "renamed between the listing and the look at it", "nothing is taken for deleted; the next listing is right", "", false},
		{31, "the folder tree is taken away and comes back", "gone after two listings; rows stay; reading goes on", "", false},
		{32, "one rollout in two places", "the one that holds the other is read; else both are named", "", false},
		{33, "the event queue overflows", "everything is listed, current within 2 s", "", false},
		{34, "no more watches", "looks by the clock, says so once", "", false},
		{35, "no more watch instances", "the same", "", false},
		{36, "no more file descriptors", "waits and tries again; no crash", "", false},
		{37, "a folder and its first file made at once", "the first file is found", "", false},
		{38, "a file system without events", "noticed by the listing; looks by the clock from then on", "NFS, SMB and 9p themselves: played by a real FUSE file system that is written to behind its back", false},
		{39, "Windows tells of a change only when the writer closes the file", "active files are looked at every 250 ms", "Windows itself: played by a watcher whose events come late", false},
		{40, "permission denied, later given", "named as unreadable, then taken in", "", false},
		{41, "a pipe, device, socket, link or folder named like a rollout", "passed over; nothing hangs", "", false},
		{42, "the clock jumps; times in whole seconds; times in the future", "nothing lost, no busy loop", "", false},
		{43, "the machine sleeps", "everything is listed after waking up", "real suspend: played by stopping the process, and by a clock that jumps", false},
		{44, "the cache is damaged: header, cut, another program's, emptied, a folder, flipped bytes", "found, set aside, made anew; silent changes are found by the daily check", "", false},
		{45, "the cache or the lock file is deleted while the daemon runs", "a new cache; never two daemons that write to one", "", false},
		{46, "a cache of a newer version", "not written; read if the newer version allows it", "", false},
		{47, "a second daemon; a reader that holds its view for long; a reader killed", "the second gives way; the WAL is bounded, with a warning; no stall", "", false},
		{48, "hostile ids, titles and folders; links in the drop folder; a drop folder that others may write; secrets; instructions", "nothing outside the folder; refused; taken out; framed", "", false},
	}
}

// Goals gives all goals, by number.
func Goals() []Row {
	return []Row{
		{1, "1,000 kills, half of them at named points: no item lost, doubled or out of order; sums equal the rows; no torn memory file", "", "", false},
		{2, "200 damages to the WAL: the same after a restart", "", "", false},
		{3, "killed before the k-th call of 6 kinds, 12 values of k: the same", "", "", false},
		{4, "28,000 files changed during an overflow: all current within 2 s; memory grows by at most 16 MiB", "", "", false},
		{5, "without watches: starts, says so once, at most 2 s behind for files active in the last hour", "", "", false},
		{6, "from an appended line to the committed row: 50 ms at the 99th percentile", "", "Windows and NFS, SMB, 9p themselves (500 ms)", false},
		{7, "10,000 sessions: current within 1 s of the start when nothing changed; idle at 0.2 % of a core, at most one wake-up a second", "", "", false},
		{8, "disk full at any write: no crash, no partial file, answers go on, caught up within 5 s of space", "", "", false},
		{9, "a damaged, foreign, emptied, deleted, replaced or newer cache: noticed within 50 ms or at the next write; rebuilt at 20 MB/s; answers meanwhile say so", "", "", false},
		{10, "the daily check derives 2 % of all threads again; a flipped value is found within 50 days, or when the thread is asked for", "", "", false},
		{11, "8 readers at full writing speed: none is refused, a point query takes 1 ms at the 99th percentile; WAL under 64 MiB with a reader that holds its view for 60 s", "", "", false},
		{12, "damaged lines: every whole record after the damage is taken in, every skip is counted, nothing invented", "", "", false},
		{13, "compressed, archived, replaced with the same beginning: nothing read twice, no row twice; rewritten: old rows leave in the transaction that starts the new ones", "", "", false},
		{14, "a 1 GiB file with a 50 MiB line: at most 200 MiB of memory", "", "", false},
		{15, "a reader that looks at the drop folder 100,000 times never sees a short file; unchanged content is not rewritten; modes 0600 and 0700", "", "", false},
		{16, "hostile names: no byte outside the folder", "", "", false},
		{17, "60 secrets of known shapes: none in memory files, answers or logs; at most 1 % of ordinary lines touched; 50 MB per CPU second", "", "", false},
		{18, "40 hostile transcripts: each stays inside its frame", "", "", false},
		{19, "a second daemon ends within 100 ms with its own exit code; a stale lock needs no hand", "", "", false},
		{20, "told to stop: ended cleanly within 2 s in any phase", "", "restart after a crash: `make systemd`, in a booted Debian", false},
		{21, "install, log in, run, upgrade, uninstall leaves nothing", "", "`make systemd`, in a booted Debian; never on macOS or Windows", true},
		{22, "the clock ten years back or ahead, summer time, times in whole seconds: nothing lost, no busy loop", "", "", false},
		{23, "no goroutine is left after the end; no data race; fuzz targets find nothing", "", "", false},
		{24, "nothing in a Codex home is ever written, locked, renamed or deleted", "", "", false},
	}
}
