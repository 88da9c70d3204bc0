-- When a rollout was last derived again and compared with its rows.
CREATE TABLE checked (
  rollout INTEGER PRIMARY KEY,
  at_ns   INTEGER NOT NULL
);
