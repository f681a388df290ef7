Statements that run on SQLite and on Postgres alike: no casts with colons, no percent signs.

-- name: session_rows
-- Everything of one session; a promoted copy only once its original is gone.
SELECT mem_id, stage, category, significance, text, event_at, stored_at, session_id, channel,
  artifact_key, words, source_kind
FROM mm_memories AS m
WHERE agent_id = :agent AND session_id = :session
  AND (source_mem_id IS NULL OR NOT EXISTS (
    SELECT 1 FROM mm_memories AS o WHERE o.agent_id = :agent AND o.mem_id = m.source_mem_id))
ORDER BY stored_at DESC, mem_id;

-- name: get_memory
SELECT mem_id, stage, category, significance, text, event_at, stored_at, session_id, channel,
  artifact_key, words
FROM mm_memories
WHERE agent_id = :agent AND mem_id = :mem_id;

-- name: insert_memory
INSERT INTO mm_memories (mem_id, agent_id, stage, category, significance, text, event_at,
  stored_at, sort_at, session_id, channel, source_kind, artifact_key, status, source_mem_id, words)
VALUES (:mem_id, :agent, :stage, :category, :significance, :text, :event_at,
  :stored_at, :sort_at, :session, :channel, :source_kind, :artifact_key, :status, :source_mem_id,
  :words);

-- name: insert_word
INSERT INTO mm_words (agent_id, stage, word, sort_at, mem_id)
VALUES (:agent, :stage, :word, :sort_at, :mem_id);

-- name: delete_memory
DELETE FROM mm_memories WHERE agent_id = :agent AND mem_id = :mem_id;

-- name: delete_word
DELETE FROM mm_words
WHERE agent_id = :agent AND stage = :stage AND word = :word AND sort_at = :sort_at
  AND mem_id = :mem_id;

-- name: count_word
-- How many rows hold a word, as far as it matters for the choice of the rarest.
SELECT COUNT(*) FROM (
  SELECT 1 FROM mm_words
  WHERE agent_id = :agent AND stage = :stage AND word = :word
  LIMIT :most) AS held;

-- name: rows_with_word
-- A page of the rows that hold either word, the newest first.
SELECT m.mem_id, m.stage, m.category, m.significance, m.text, m.event_at, m.stored_at,
  m.session_id, m.channel, m.artifact_key, m.words, m.sort_at, m.source_mem_id
FROM mm_words AS w
JOIN mm_memories AS m ON m.agent_id = :agent AND m.mem_id = w.mem_id
WHERE w.agent_id = :agent AND w.stage = :stage AND w.word = :word
  AND (w.sort_at < :before OR (w.sort_at = :before AND w.mem_id < :before_id))
ORDER BY w.sort_at DESC, w.mem_id DESC
LIMIT :most;

-- name: newest_rows
-- A page of all rows of a stage, the newest first.
SELECT mem_id, stage, category, significance, text, event_at, stored_at, session_id, channel,
  artifact_key, words, sort_at, source_mem_id
FROM mm_memories
WHERE agent_id = :agent AND stage = :stage
  AND (sort_at < :before OR (sort_at = :before AND mem_id < :before_id))
ORDER BY sort_at DESC, mem_id DESC
LIMIT :most;

-- name: expired_rows
SELECT mem_id, stage, sort_at, words FROM mm_memories
WHERE agent_id = :agent AND stage = 'working' AND stored_at < :before
ORDER BY stored_at
LIMIT :most;

-- name: strongest_rows
SELECT mem_id, category, text, event_at, stored_at FROM mm_memories
WHERE agent_id = :agent AND stage = 'long_term'
ORDER BY significance DESC, sort_at DESC, mem_id
LIMIT :most;

-- name: recent_rows
SELECT mem_id, category, text, event_at, stored_at, session_id FROM mm_memories
WHERE agent_id = :agent AND stage = 'working' AND sort_at > :since AND sort_at <= :until
ORDER BY sort_at DESC, mem_id
LIMIT :most;

-- name: get_state
SELECT last_rebuild_at, rebuild_wanted FROM mm_state WHERE agent_id = :agent;

-- name: put_state
INSERT INTO mm_state (agent_id, last_rebuild_at, rebuild_wanted)
VALUES (:agent, :last_rebuild_at, :rebuild_wanted)
ON CONFLICT (agent_id) DO UPDATE
SET last_rebuild_at = excluded.last_rebuild_at, rebuild_wanted = excluded.rebuild_wanted;

-- name: important_rows
-- What promotion copies: working rows that matter and have no copy yet.
SELECT mem_id, stage, category, significance, text, event_at, stored_at, session_id, channel,
  artifact_key, words, sort_at, source_kind, status
FROM mm_memories AS m
WHERE agent_id = :agent AND stage = 'working'
  AND (significance >= :least OR category IN ('commitment', 'deadline'))
  AND NOT EXISTS (
    SELECT 1 FROM mm_memories AS c WHERE c.agent_id = :agent AND c.source_mem_id = m.mem_id)
ORDER BY stored_at, mem_id
LIMIT :most;

-- name: copies
-- Every promoted copy, and whether its original is gone without a later capture of the session.
SELECT c.mem_id, c.source_mem_id, c.stored_at,
  NOT EXISTS (
    SELECT 1 FROM mm_memories AS o
    WHERE o.agent_id = :agent AND o.stage = 'working'
      AND (o.mem_id = c.source_mem_id
        OR (o.session_id = c.session_id AND o.stored_at > c.stored_at))) AS is_orphan
FROM mm_memories AS c
WHERE c.agent_id = :agent AND c.source_mem_id IS NOT NULL
ORDER BY c.stored_at, c.mem_id;

-- name: count_overdue
SELECT COUNT(*) FROM mm_memories
WHERE agent_id = :agent AND stage = 'working' AND stored_at < :before;

-- name: sessions_in
-- The sessions of the channels whose names begin so.
SELECT DISTINCT session_id FROM mm_memories
WHERE agent_id = :agent AND session_id IS NOT NULL AND channel >= :first AND channel < :after;

-- name: rows_of_session
-- All of one session, copies beside their originals.
SELECT mem_id, stage, sort_at, words FROM mm_memories
WHERE agent_id = :agent AND session_id = :session;

-- name: rows_of_memory
-- A memory, its copy and its original.
SELECT mem_id, stage, sort_at, words FROM mm_memories
WHERE agent_id = :agent AND (mem_id = :mem_id OR source_mem_id = :mem_id
  OR mem_id = (SELECT c.source_mem_id FROM mm_memories AS c
    WHERE c.agent_id = :agent AND c.mem_id = :mem_id));

-- name: count_by_agent
SELECT agent_id, COUNT(*) FROM mm_memories GROUP BY agent_id ORDER BY agent_id;

-- name: some_sessions
SELECT DISTINCT session_id FROM mm_memories WHERE agent_id = :agent LIMIT :most;

-- name: whole_rows
-- Every column of the rows of a session, or of those that belong to none, the earliest first.
SELECT mem_id, stage, category, significance, text, event_at, stored_at, sort_at, session_id,
  channel, source_kind, artifact_key, status, source_mem_id, words
FROM mm_memories
WHERE agent_id = :agent AND session_id IS NOT DISTINCT FROM :session
ORDER BY stored_at, mem_id;
