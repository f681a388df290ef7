-- Hook state: what was shown to a session and when it was last reminded. Never records.

-- name: get_session
SELECT agent, first_seen_at, last_activity_at, last_reminder_at, last_full_block_at, shown_sources,
  project
FROM hook_sessions WHERE session_id = :session_id;

-- name: list_shown
SELECT reader, path, shown_id, max(shown_at) FROM hook_files
WHERE session_id = :session_id AND in_context = 1 GROUP BY reader, path, shown_id;

-- name: put_session
INSERT INTO hook_sessions (
  session_id, agent, first_seen_at, last_activity_at, last_reminder_at, last_full_block_at,
  shown_sources, project)
VALUES (
  :session_id, :agent, :first_seen_at, :last_activity_at, :last_reminder_at, :last_full_block_at,
  :shown_sources, :project)
ON CONFLICT (session_id) DO UPDATE SET
  first_seen_at = min(first_seen_at, excluded.first_seen_at), project = excluded.project,
  last_activity_at = excluded.last_activity_at, last_reminder_at = excluded.last_reminder_at,
  last_full_block_at = excluded.last_full_block_at, shown_sources = excluded.shown_sources;

-- name: drop_shown
-- A compaction took it out of the context; that it was shown stays for `mash log`.
UPDATE hook_files SET in_context = 0 WHERE session_id = :session_id;

-- name: put_shown
INSERT INTO hook_files (session_id, reader, path, shown_id, shown_at, in_context)
VALUES (:session_id, :reader, :path, :shown_id, :shown_at, :in_context)
ON CONFLICT DO UPDATE SET in_context = excluded.in_context;

-- name: delete_shown
-- It never arrived.
DELETE FROM hook_files WHERE session_id = :session_id AND reader = :reader AND path = :path
  AND shown_id = :shown_id AND shown_at = :shown_at;

-- name: find_sessions
-- The newest first; with a beginning of an ID only those that have it, with a project those there.
SELECT session_id, agent, project, first_seen_at, last_activity_at, last_reminder_at
FROM hook_sessions
WHERE (:beginning IS NULL OR substr(session_id, 1, length(:beginning)) = :beginning)
  AND (:project IS NULL OR project = :project)
ORDER BY last_activity_at DESC, session_id LIMIT :count;

-- name: put_heartbeat
INSERT INTO hook_heartbeats (agent, hook, seen_at) VALUES (:agent, :hook, :seen_at)
ON CONFLICT (agent, hook) DO UPDATE SET seen_at = excluded.seen_at;

-- name: list_heartbeats
SELECT agent, hook, seen_at FROM hook_heartbeats ORDER BY agent, hook;

-- name: delete_old_sessions
-- Counted from the newest activity too: a clock that jumped ahead must not empty the table.
DELETE FROM hook_sessions
WHERE last_activity_at < MIN(:now, (SELECT max(last_activity_at) FROM hook_sessions)) - :keep_ms;

-- name: add_latency
INSERT INTO hook_latency (day, hook, limit_ms, answers, first_at)
VALUES (:day, :hook, :limit_ms, :answers, :first_at)
ON CONFLICT (day, hook, limit_ms) DO UPDATE SET
  answers = answers + excluded.answers, first_at = min(first_at, excluded.first_at);

-- name: sum_latency
SELECT hook, limit_ms, sum(answers), min(first_at) FROM hook_latency
WHERE limit_ms != :late GROUP BY hook, limit_ms;

-- name: late_answers
SELECT hook, sum(answers) FROM hook_latency
WHERE limit_ms = :late AND day >= :first_day GROUP BY hook;

-- name: delete_old_latency
-- Counted from the day before the newest one: a clock that jumped ahead must not empty the table.
DELETE FROM hook_latency
WHERE day <= (SELECT max(day) FROM hook_latency WHERE day < :newest) + 1 - :kept;
