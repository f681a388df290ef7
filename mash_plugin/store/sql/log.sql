-- What was saved and shown, when and by which session; texts are read apart, under their checksums.

-- name: list_events
-- A record's head is its newest revision: its index finds the few that changed since. What an agent
-- asked to forget has that receipt, with the time; all else is forgotten by the person's commands.
WITH asked AS (
  SELECT receipt ->> '$.id' AS record_id, recorded_at AS asked_at,
    coalesce(receipt ->> '$.removed_at', recorded_at) AS gone_at,
    receipt ->> '$.asked_by.session_id' AS session_id,
    coalesce(receipt ->> '$.asked_by.agent', '') AS agent
  FROM receipts WHERE status = 'done' AND receipt ->> '$.action' = 'forget')
SELECT e.at, e.event, e.id, e.revision, e.session_id,
  coalesce(s.agent, CASE WHEN e.event IN ('hidden', 'forgotten') THEN e.other END), e.detail, e.other
FROM (
  SELECT v.recorded_at AS at, 'saved' AS event, v.record_id AS id, v.revision AS revision,
    v.session_id AS session_id, v.origin AS detail, '' AS other
  FROM records r JOIN revisions v ON v.record_id = r.record_id
  WHERE r.recorded_at >= :since AND v.recorded_at >= :since AND r.hidden_at IS NULL
  UNION ALL
  SELECT confirmed_at, 'confirmed', record_id, revision, session_id, '', message_id
  FROM confirmations WHERE confirmed_at >= :since
  UNION ALL
  SELECT recorded_at, 'linked', from_record, from_revision, session_id, relation, to_record
  FROM links WHERE recorded_at >= :since
  UNION ALL
  SELECT r.hidden_at, 'hidden', r.record_id, r.head_revision, r.hidden_by, '', coalesce(a.agent, '')
  FROM records r LEFT JOIN asked a ON a.record_id = r.record_id AND a.asked_at = r.hidden_at
  WHERE r.hidden_at >= :since
  UNION ALL
  SELECT t.forgotten_at, 'forgotten', t.record_id, NULL, a.session_id,
    iif(a.record_id IS NULL, 'terminal', 'tool'), coalesce(a.agent, '')
  FROM record_tombstones t
    LEFT JOIN asked a ON a.record_id = t.record_id AND a.gone_at = t.forgotten_at
  WHERE t.forgotten_at >= :since
  UNION ALL
  SELECT forgotten_at, 'chat_forgotten', '', NULL, NULL, '', ''
  FROM chat_tombstones WHERE forgotten_at >= :since
  UNION ALL
  SELECT shown_at, 'shown', shown_id, NULL, session_id, path, reader
  FROM hook_files WHERE shown_at >= :since AND shown_id NOT LIKE 'note:%') e
LEFT JOIN hook_sessions s ON s.session_id = e.session_id
-- At one time a first revision took the place of a later one, and is told above it.
ORDER BY e.at DESC, e.event, e.revision, e.id, e.session_id, e.detail, e.other
LIMIT :count OFFSET :start;

-- name: list_shown_to
-- Everything that one session was shown, the saving note too, from its start on.
SELECT f.shown_at, 'shown', f.shown_id, NULL, f.session_id, s.agent, f.path, f.reader
FROM hook_files f JOIN hook_sessions s ON s.session_id = f.session_id
WHERE f.session_id = :session_id
ORDER BY f.shown_at, f.reader, f.path, f.shown_id LIMIT :count OFFSET :start;
