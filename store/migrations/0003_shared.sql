-- What is known of the files that a sink shares with others. Not derived:
-- survives a rebuild.
CREATE TABLE shared (
  sink TEXT NOT NULL,
  path TEXT NOT NULL,                        -- absolute
  body TEXT NOT NULL,                        -- the file as JSON; its sink alone reads it
  PRIMARY KEY (sink, path)
) WITHOUT ROWID;
