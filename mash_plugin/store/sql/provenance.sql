-- Which session saved what.

-- name: sessions_from
-- Sessions that saved or hid anything and whose ID begins so.
SELECT session_id FROM (
  SELECT session_id FROM revisions UNION SELECT session_id FROM confirmations
  UNION SELECT session_id FROM links UNION SELECT hidden_by FROM records)
WHERE substr(session_id, 1, length(:start)) = :start ORDER BY session_id LIMIT :count;

-- name: newest_session
-- The one that saved or hid anything last.
SELECT session_id FROM (
  SELECT session_id, recorded_at AS at FROM revisions
  UNION ALL SELECT session_id, confirmed_at FROM confirmations
  UNION ALL SELECT session_id, recorded_at FROM links
  UNION ALL SELECT hidden_by, hidden_at FROM records)
WHERE session_id IS NOT NULL ORDER BY at DESC, session_id LIMIT 1;

-- name: list_saved
-- Who saved each revision of a record, the first one first.
SELECT revision, session_id, origin FROM revisions WHERE record_id = :record_id ORDER BY revision;

-- name: records_of_session
-- Records of which the session saved a revision.
SELECT DISTINCT record_id FROM revisions WHERE session_id = :session_id ORDER BY record_id;

-- name: confirmations_of_session
SELECT record_id, revision, message_id FROM confirmations
WHERE session_id = :session_id ORDER BY record_id, revision, message_id;

-- name: links_of_session
SELECT link_id, from_record, relation, to_record FROM links
WHERE session_id = :session_id ORDER BY link_id;

-- name: hidden_by_session
SELECT record_id FROM records WHERE hidden_by = :session_id ORDER BY record_id;

-- name: delete_confirming_evidence
-- What a confirmation cited was kept in the same moment.
DELETE FROM evidence WHERE evidence_id IN (
  SELECT e.evidence_id FROM confirmations c
  JOIN evidence e ON e.record_id = c.record_id AND e.revision = c.revision
    AND e.added_by = 'confirmation' AND e.recorded_at = c.confirmed_at
  WHERE c.session_id = :session_id);

-- name: delete_confirmations
DELETE FROM confirmations WHERE session_id = :session_id;

-- name: delete_link
DELETE FROM links WHERE link_id = :link_id;
