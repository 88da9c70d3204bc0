-- One row a rollout file, whatever its form and place. Everything derived from
-- its bytes before `off` is committed in the same transaction as `off`.
CREATE TABLE rollout (
  id             INTEGER PRIMARY KEY,
  rollout_id     TEXT NOT NULL UNIQUE,       -- id in the file name
  thread_id      TEXT NOT NULL,
  stamp          TEXT NOT NULL,              -- time in the file name, the writer's local time
  home           TEXT NOT NULL,
  path           TEXT NOT NULL,
  form           INTEGER NOT NULL,
  archived       INTEGER NOT NULL DEFAULT 0,
  gen            INTEGER NOT NULL DEFAULT 1, -- rises when the file was rewritten
  gen_seq        INTEGER NOT NULL DEFAULT 0, -- item numbers above this one belong to the current generation
  last_seq       INTEGER NOT NULL DEFAULT 0,
  off            INTEGER NOT NULL DEFAULT 0, -- logical bytes taken in
  line           INTEGER NOT NULL DEFAULT 0,
  head_len       INTEGER NOT NULL DEFAULT 0,
  head           BLOB,
  tail_len       INTEGER NOT NULL DEFAULT 0,
  tail           BLOB,
  size           INTEGER NOT NULL DEFAULT 0, -- of the file when last looked at
  mtime_ns       INTEGER NOT NULL DEFAULT 0,
  ctime_ns       INTEGER NOT NULL DEFAULT 0,
  dev            INTEGER NOT NULL DEFAULT 0,
  ino            INTEGER NOT NULL DEFAULT 0,
  pending        INTEGER NOT NULL DEFAULT 0, -- bytes of an unfinished last line
  state          INTEGER NOT NULL DEFAULT 1,
  reason         TEXT NOT NULL DEFAULT '',
  facts          TEXT NOT NULL DEFAULT '{}',
  parser         BLOB,
  parser_version INTEGER NOT NULL DEFAULT 0,
  base_rollout   TEXT NOT NULL DEFAULT '',
  base_ordinal   INTEGER NOT NULL DEFAULT 0,
  base_offset    INTEGER NOT NULL DEFAULT 0,
  base_complete  INTEGER NOT NULL DEFAULT 1,
  base_sums      TEXT NOT NULL DEFAULT '{}', -- of what is inherited through the base
  sums           TEXT NOT NULL DEFAULT '{}', -- of this file's own live items
  awaits_parent  TEXT NOT NULL DEFAULT ''    -- thread whose copied lines could not be told from own ones yet
);
CREATE INDEX rollout_thread ON rollout(thread_id);
CREATE INDEX rollout_base ON rollout(base_rollout) WHERE base_rollout <> '';
CREATE INDEX rollout_awaits ON rollout(awaits_parent) WHERE awaits_parent <> '';

-- id = rollout << 32 | seq, so that a rollout's items lie side by side.
-- The texts stand last: figures are read without touching them.
CREATE TABLE item (
  id          INTEGER PRIMARY KEY,
  gen         INTEGER NOT NULL,
  role        INTEGER NOT NULL,
  turn        INTEGER NOT NULL,
  ts_ns       INTEGER NOT NULL,
  off         INTEGER NOT NULL,
  size        INTEGER NOT NULL,
  ordinal     INTEGER NOT NULL,
  inherited   INTEGER NOT NULL,
  dead_off    INTEGER,                       -- NULL: on the current branch
  dead_ord    INTEGER,
  phase       INTEGER NOT NULL,
  exit_code   INTEGER,
  images      INTEGER NOT NULL,
  tok_o200k   INTEGER NOT NULL,
  tok_cl100k  INTEGER NOT NULL,
  tok_shrunk  INTEGER NOT NULL,
  key         INTEGER NOT NULL,
  hash        BLOB NOT NULL,                 -- first 16 bytes of SHA-256 of what was said
  turn_id     TEXT NOT NULL,
  name        TEXT NOT NULL,
  call_id     TEXT NOT NULL,
  args        TEXT NOT NULL,
  text        TEXT NOT NULL
);

CREATE TABLE turn (
  rollout    INTEGER NOT NULL,
  number     INTEGER NOT NULL,
  turn_id    TEXT NOT NULL,
  started_ns INTEGER NOT NULL,
  ended_ns   INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  error      TEXT NOT NULL,
  PRIMARY KEY (rollout, number)
) WITHOUT ROWID;

CREATE TABLE damage (
  rollout  INTEGER NOT NULL,
  line     INTEGER NOT NULL,
  off      INTEGER NOT NULL,
  size     INTEGER NOT NULL,
  cause    TEXT NOT NULL,
  detail   TEXT NOT NULL,
  salvaged INTEGER NOT NULL,
  PRIMARY KEY (rollout, line, off)
) WITHOUT ROWID;

CREATE TABLE unknown (
  rollout INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  name    TEXT NOT NULL,
  version TEXT NOT NULL,
  count   INTEGER NOT NULL,
  line    INTEGER NOT NULL,
  PRIMARY KEY (rollout, kind, name, version)
) WITHOUT ROWID;

-- Usable windows as the rollouts themselves reported them.
CREATE TABLE window_seen (
  model   TEXT NOT NULL,
  tokens  INTEGER NOT NULL,
  seen_ns INTEGER NOT NULL,
  PRIMARY KEY (model, tokens)
) WITHOUT ROWID;

CREATE TABLE thread (
  id           INTEGER PRIMARY KEY,
  thread_id    TEXT NOT NULL UNIQUE,
  head         INTEGER NOT NULL,
  workspace    TEXT NOT NULL,
  parent       TEXT NOT NULL,
  subagent     INTEGER NOT NULL,
  archived     INTEGER NOT NULL,
  gone         INTEGER NOT NULL,
  state        INTEGER NOT NULL,
  created_ns   INTEGER NOT NULL,
  updated_ns   INTEGER NOT NULL,
  tokens       INTEGER NOT NULL,             -- o200k_base, current branch
  rev          INTEGER NOT NULL,             -- rises with each change
  title        TEXT NOT NULL,
  body         TEXT NOT NULL                 -- the thread as JSON
);
CREATE INDEX thread_updated ON thread(updated_ns);
CREATE INDEX thread_workspace ON thread(workspace, updated_ns);
CREATE INDEX thread_parent ON thread(parent) WHERE parent <> '';
CREATE INDEX thread_last8 ON thread(substr(thread_id, -8));
CREATE INDEX rollout_last8 ON rollout(substr(rollout_id, -8));

CREATE TABLE thread_name (
  thread_id  TEXT PRIMARY KEY,
  name       TEXT NOT NULL
) WITHOUT ROWID;

-- The figures of a target model, shared by all decisions about it.
CREATE TABLE target (
  id     INTEGER PRIMARY KEY,
  model  TEXT NOT NULL UNIQUE,
  body   TEXT NOT NULL
);
CREATE TABLE decision (
  thread        INTEGER NOT NULL,
  target        INTEGER NOT NULL,
  verdict       INTEGER NOT NULL,
  strategy      INTEGER NOT NULL,
  fit           INTEGER NOT NULL,
  tokens        INTEGER NOT NULL,
  target_tokens INTEGER NOT NULL,
  budget        INTEGER,                     -- NULL when direct
  messages      INTEGER NOT NULL,
  through_seq   INTEGER NOT NULL,
  computed_ns   INTEGER NOT NULL,
  PRIMARY KEY (thread, target)
) WITHOUT ROWID;

-- What a strategy keeps within a budget, so that an answer needn't select again.
CREATE TABLE pack (
  thread      INTEGER NOT NULL,
  strategy    TEXT NOT NULL,
  budget      INTEGER NOT NULL,
  through_seq INTEGER NOT NULL,
  tokens      INTEGER NOT NULL,
  kept        INTEGER NOT NULL,
  omitted     INTEGER NOT NULL,
  PRIMARY KEY (thread, strategy, budget)
) WITHOUT ROWID;

-- Proof of what a sink wrote. Not derived: survives a rebuild.
CREATE TABLE receipt (
  sink       TEXT NOT NULL,
  thread_id  TEXT NOT NULL,
  name       TEXT NOT NULL,                  -- path below the sink's root, fixed at first write
  hash       TEXT NOT NULL,
  bytes      INTEGER NOT NULL,
  rev        INTEGER NOT NULL,               -- thread.rev that was written
  managed    INTEGER NOT NULL,
  written_ns INTEGER NOT NULL,
  PRIMARY KEY (sink, thread_id)
) WITHOUT ROWID;

CREATE TABLE home (
  path       TEXT PRIMARY KEY,
  present    INTEGER NOT NULL,
  problem    TEXT NOT NULL,
  listed_ns  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('min_reader', '1');
