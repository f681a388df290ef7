-- What each hook put into a session's context.

-- name: add_injected
-- Only to a session that is still known: it may have been forgotten meanwhile.
INSERT INTO hook_injected (session_id, hook, times, bytes)
SELECT session_id, :hook, :times, :bytes FROM hook_sessions WHERE session_id = :session_id
ON CONFLICT (session_id, hook) DO UPDATE SET
  times = times + excluded.times, bytes = bytes + excluded.bytes;

-- name: list_injected
-- Without what was taken back whole.
SELECT hook, times, bytes FROM hook_injected
WHERE session_id = :session_id AND times > 0 ORDER BY hook;
