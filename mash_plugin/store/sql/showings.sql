-- What the dashboard tells of sessions: where they ran, and how much each was shown.

-- name: places
-- Of all sessions, or of those that were shown one record.
SELECT project, count(*) FROM hook_sessions
WHERE :shown_id IS NULL
  OR session_id IN (SELECT session_id FROM hook_files WHERE shown_id = :shown_id)
GROUP BY project ORDER BY count(*) DESC, project;

-- name: list_sessions
-- The newest first, each with its counts; only the page's own sessions are counted.
SELECT s.session_id, s.agent, s.project, s.first_seen_at, s.last_activity_at,
  (SELECT count(DISTINCT shown_id) FROM hook_files f
   WHERE f.session_id = s.session_id AND shown_id NOT LIKE 'chat:%' AND shown_id NOT LIKE 'note:%'),
  (SELECT count(DISTINCT shown_id) FROM hook_files f
   WHERE f.session_id = s.session_id AND shown_id LIKE 'chat:%'),
  (SELECT coalesce(sum(times), 0) FROM hook_injected i
   WHERE i.session_id = s.session_id AND hook = 'prompt-submit'),
  (SELECT coalesce(sum(bytes), 0) FROM hook_injected i WHERE i.session_id = s.session_id)
FROM (
  SELECT * FROM hook_sessions
  WHERE (:session_id IS NULL OR session_id = :session_id)
    AND (:places IS NULL OR coalesce(project, '') IN (SELECT value FROM json_each(:places)))
    AND (:shown_id IS NULL
      OR session_id IN (SELECT session_id FROM hook_files WHERE shown_id = :shown_id))
  ORDER BY last_activity_at DESC, session_id LIMIT :count OFFSET :start) s
ORDER BY s.last_activity_at DESC, s.session_id;
