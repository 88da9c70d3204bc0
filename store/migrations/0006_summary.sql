-- What somebody wrote of a thread that no rollout gives. Not derived: survives a
-- rebuild, and the thread's own row.
CREATE TABLE summary (
  thread_id  TEXT NOT NULL,
  source     INTEGER NOT NULL,               -- who wrote it
  model      TEXT NOT NULL,                  -- empty: not told
  through    INTEGER NOT NULL,               -- thread position of the newest message it covers
  created_ns INTEGER NOT NULL,
  body       TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (thread_id, source)
) WITHOUT ROWID;
