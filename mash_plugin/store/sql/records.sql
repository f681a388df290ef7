-- Records, their revisions and evidence.

-- name: window
-- What default recall may return, newest first, straight from the index records_window.
SELECT record_id, owner_id, kind, scope_kind, scope_value, head_revision, review, state, retired,
  decided_by, effective_at, valid_until, recorded_at, evidence_stale, confirmations,
  strong_tokens, weak_tokens, hidden_at
FROM live_heads r
WHERE owner_id = :owner_id AND scope_kind = :scope_kind AND scope_value = :scope_value
  AND evidence_stale = 0 AND begins_at <= :now AND :now < ends_at
  AND NOT EXISTS (
    SELECT 1 FROM contradictions c JOIN live_heads o ON o.record_id = c.other_id
    WHERE c.record_id = r.record_id AND o.begins_at <= :now AND :now < o.ends_at)
ORDER BY recorded_at DESC, record_id
LIMIT :count;

-- name: window_changes_at
-- The next moment at which a record of the scope begins or ceases to be in force.
SELECT min(at) FROM (
  SELECT min(effective_at) AS at FROM records
  WHERE owner_id = :owner_id AND scope_kind = :scope_kind AND scope_value = :scope_value
    AND effective_at > :now AND hidden_at IS NULL
  UNION ALL
  SELECT min(valid_until) FROM records
  WHERE owner_id = :owner_id AND scope_kind = :scope_kind AND scope_value = :scope_value
    AND valid_until > :now AND hidden_at IS NULL);

-- name: owner_and_version
-- The version changes with every change of records and links.
SELECT CAST(value AS TEXT), version FROM meta, record_version WHERE key = 'owner_id';

-- name: other_owners
-- Those whose records came with an import.
SELECT owner_id FROM owners WHERE owner_id <> :owner_id ORDER BY created_at, owner_id;

-- name: review_window
-- One of the four parts of the index that recall with include_review joins.
SELECT * FROM heads
WHERE owner_id = :owner_id AND scope_kind = :scope_kind AND scope_value = :scope_value
  AND retired = :retired AND evidence_stale = :evidence_stale AND hidden_at IS NULL
ORDER BY recorded_at DESC, record_id
LIMIT :count;

-- name: conflicted_among
-- Those of the given records that are in force and contradict, or are contradicted by, another one.
SELECT r.record_id
FROM json_each(:record_ids) j JOIN live_heads r ON r.record_id = j.value
WHERE r.begins_at <= :now AND :now < r.ends_at
  AND EXISTS (
    SELECT 1 FROM contradictions c JOIN live_heads o ON o.record_id = c.other_id
    WHERE c.record_id = r.record_id AND o.begins_at <= :now AND :now < o.ends_at);

-- name: last_confirmed
-- When heads among the given records were last confirmed, those alone that were.
SELECT c.record_id, max(c.confirmed_at)
FROM json_each(:record_ids) j
JOIN records r ON r.record_id = j.value
JOIN confirmations c ON c.record_id = r.record_id AND c.revision = r.head_revision
GROUP BY c.record_id;

-- name: get_head
-- Also of a hidden record, since undo and removal start from it; its readers look at hidden_at.
SELECT * FROM heads WHERE record_id = :record_id;

-- name: ids_from
-- IDs that begin so, through the primary key.
SELECT record_id FROM records
WHERE record_id >= :start AND record_id < :start || char(1114111) ORDER BY record_id LIMIT :count;

-- name: removed_from
SELECT record_id FROM record_tombstones
WHERE record_id >= :start AND record_id < :start || char(1114111) ORDER BY record_id LIMIT 1;

-- name: list_heads
-- One page of the complete list; every filter is optional and tests the head (R-095). All of them
-- stand in the index records_list, so that only what is shown is looked up.
SELECT * FROM heads
WHERE hidden_at IS NULL
  AND (:scope_kind IS NULL OR (scope_kind = :scope_kind AND scope_value = :scope_value))
  AND (:kind IS NULL OR kind = :kind)
  AND (:state IS NULL OR state = :state)
  AND (:review IS NULL OR review = :review)
ORDER BY recorded_at DESC, record_id
LIMIT :count OFFSET :start;

-- name: list_heads_of_chat
-- The same of the records of which any revision or confirmation cites a chat (R-096).
SELECT * FROM heads
WHERE record_id IN (SELECT e.record_id FROM evidence e WHERE e.chat_id = :chat_id)
  AND hidden_at IS NULL
  AND (:scope_kind IS NULL OR (scope_kind = :scope_kind AND scope_value = :scope_value))
  AND (:kind IS NULL OR kind = :kind)
  AND (:state IS NULL OR state = :state)
  AND (:review IS NULL OR review = :review)
ORDER BY recorded_at DESC, record_id
LIMIT :count OFFSET :start;

-- name: find_live
-- A live record with the same interpretation, through the index records_dup.
SELECT record_id FROM records
WHERE owner_id = :owner_id AND scope_kind = :scope_kind AND scope_value = :scope_value
  AND interpretation_hash = :interpretation_hash AND retired = 0 AND hidden_at IS NULL
ORDER BY recorded_at, record_id LIMIT 1;

-- name: count_live
-- How many records of a scope are live, and when the last of them was saved.
SELECT count(*), max(recorded_at) FROM live_heads
WHERE owner_id = :owner_id AND scope_kind = :scope_kind AND scope_value = :scope_value;

-- name: get_revision
SELECT revision, statement, recorded_by, review, state, decided_by, effective_at, valid_until,
  reported_by, alternatives, consequences, conditions, recorded_at, session_id, origin, checksum
FROM revisions WHERE record_id = :record_id AND revision = :revision;

-- name: text_bytes
-- How long the texts of heads are, without reading them out.
SELECT r.record_id, length(CAST(v.statement AS BLOB)) + length(CAST(v.recorded_by AS BLOB))
  + coalesce(length(CAST(v.reported_by AS BLOB)), 0)
  + coalesce(length(CAST(v.alternatives AS BLOB)), 0)
  + coalesce(length(CAST(v.consequences AS BLOB)), 0)
  + coalesce(length(CAST(v.conditions AS BLOB)), 0)
FROM json_each(:record_ids) j
JOIN records r ON r.record_id = j.value
JOIN revisions v ON v.record_id = r.record_id AND v.revision = r.head_revision;

-- name: list_revisions
-- Numbers below a revision, newest first (R-104, R-105).
SELECT revision FROM revisions
WHERE record_id = :record_id AND (:before IS NULL OR revision < :before)
ORDER BY revision DESC LIMIT :count;

-- name: list_evidence
SELECT chat_id, message_id, quote, purpose, role, author, message_text, status, added_by,
  recorded_at
FROM evidence WHERE record_id = :record_id AND revision = :revision ORDER BY evidence_id;

-- name: list_confirmations
SELECT message_id, confirmed_at FROM confirmations
WHERE record_id = :record_id AND revision = :revision ORDER BY confirmed_at, message_id;

-- name: list_links
-- Both directions, oldest first, with what is needed to tell whether a link is active.
SELECT l.link_id, 'outgoing' AS direction, l.relation, l.recorded_at, o.record_id, o.head_revision,
  o.state, o.retired, o.effective_at, o.valid_until
FROM links l JOIN records o ON o.record_id = l.to_record
WHERE l.from_record = :record_id AND o.hidden_at IS NULL
UNION ALL
SELECT l.link_id, 'incoming', l.relation, l.recorded_at, o.record_id, o.head_revision,
  o.state, o.retired, o.effective_at, o.valid_until
FROM links l JOIN records o ON o.record_id = l.from_record
WHERE l.to_record = :record_id AND o.hidden_at IS NULL
ORDER BY 1, 2 LIMIT :count OFFSET :start;

-- name: replacements
SELECT from_record FROM links WHERE to_record = :record_id AND relation = 'supersedes'
ORDER BY link_id;

-- name: successors
-- The given records, what took their place, and so on.
WITH RECURSIVE line(id) AS (
  SELECT value FROM json_each(:record_ids)
  UNION
  SELECT l.from_record FROM line JOIN links l ON l.to_record = line.id
  WHERE l.relation = 'supersedes')
SELECT id FROM line;

-- name: out_of_force_since
-- Those of the given records that stopped to hold, the last one first.
SELECT r.record_id FROM json_each(:record_ids) j JOIN records r ON r.record_id = j.value
WHERE (r.retired = 1 AND r.recorded_at >= :since) OR r.hidden_at >= :since
  OR r.valid_until BETWEEN :since AND :now
  OR EXISTS (
    SELECT 1 FROM links l WHERE l.relation = 'contradicts' AND l.recorded_at >= :since
      AND r.record_id IN (l.from_record, l.to_record))
ORDER BY r.recorded_at DESC, r.record_id LIMIT :count;

-- name: is_forgotten
SELECT 1 FROM record_tombstones WHERE record_id = :record_id;

-- name: evidence_of_chat
SELECT evidence_id, record_id, revision, chat_id, message_id, quote, purpose, role, author,
  message_text, status, added_by, recorded_at
FROM evidence WHERE chat_id = :chat_id ORDER BY evidence_id;
