-- What a search index must know of a rollout to be sure that it holds what the
-- items say: mark is a random number, another one whenever items are no longer
-- the ones that had their numbers. It tells apart caches that were made anew,
-- or put back from a copy, too.
ALTER TABLE rollout ADD COLUMN mark INTEGER NOT NULL DEFAULT 0;
UPDATE rollout SET mark=random();
CREATE INDEX rollout_mark ON rollout(mark, last_seq);
