-- How the newest attempt went to have a model write a summary of a thread. Not
-- kept: without it, it is tried anew, within what may be spent.
CREATE TABLE summary_try (
  thread_id TEXT PRIMARY KEY,
  at_ns     INTEGER NOT NULL,
  basis     TEXT NOT NULL,                   -- of the messages that it was about
  failures  INTEGER NOT NULL,                -- in a row, about these messages
  reason    TEXT NOT NULL                    -- why there is no summary of them; empty: there is
) WITHOUT ROWID;
