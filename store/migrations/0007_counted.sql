-- What a decision has of its own thread, where that is not the target's: what
-- stands before the conversation, as it was measured, and the imported
-- vocabulary that its tokens are of.
ALTER TABLE decision ADD COLUMN overhead INTEGER;                        -- NULL: what is assumed for the target
ALTER TABLE decision ADD COLUMN vocabulary TEXT NOT NULL DEFAULT '';     -- empty: the target's encoding

-- What a thread counts in an imported vocabulary. It holds as long as the
-- thread is as it was then.
CREATE TABLE counted (
  thread      INTEGER NOT NULL,
  vocabulary  TEXT NOT NULL,                 -- name and hash
  through_seq INTEGER NOT NULL,
  messages    INTEGER NOT NULL,
  o200k       INTEGER NOT NULL,
  tokens      INTEGER NOT NULL,
  shrunk      INTEGER NOT NULL,
  PRIMARY KEY (thread, vocabulary)
) WITHOUT ROWID;
