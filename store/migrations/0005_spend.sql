-- What was sent to models, and what it cost. Not derived: survives a rebuild.
CREATE TABLE spend (
  id        INTEGER PRIMARY KEY,
  at_ns     INTEGER NOT NULL,
  kind      INTEGER NOT NULL,
  host      TEXT NOT NULL,
  model     TEXT NOT NULL,
  calls     INTEGER NOT NULL,                -- requests, tries included
  input     INTEGER NOT NULL,                -- tokens
  output    INTEGER NOT NULL,
  exact     INTEGER NOT NULL,                -- the endpoint counted them
  micro_usd INTEGER NOT NULL,
  thread_id TEXT NOT NULL,                   -- empty: several, or none
  outcome   INTEGER NOT NULL
);
CREATE INDEX spend_at ON spend(at_ns);
