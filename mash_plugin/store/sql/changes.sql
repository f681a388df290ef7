-- What is written of records; the rules were asked before.

-- name: insert_record
INSERT INTO records (
  record_id, owner_id, kind, scope_kind, scope_value, created_at, head_revision, review, state,
  retired, decided_by, effective_at, valid_until, recorded_at, evidence_stale, confirmations,
  interpretation_hash, strong_tokens, weak_tokens)
VALUES (
  :record_id, :owner_id, :kind, :scope_kind, :scope_value, :recorded_at, :revision, :review,
  :state, :retired, :decided_by, :effective_at, :valid_until, :recorded_at, :evidence_stale, 0,
  :interpretation_hash, :strong_tokens, :weak_tokens);

-- name: insert_revision
INSERT INTO revisions (
  record_id, revision, statement, recorded_by, review, state, decided_by, effective_at,
  valid_until, reported_by, alternatives, consequences, conditions, recorded_at, session_id,
  origin, checksum)
VALUES (
  :record_id, :revision, :statement, :recorded_by, :review, :state, :decided_by, :effective_at,
  :valid_until, :reported_by, :alternatives, :consequences, :conditions, :recorded_at,
  :session_id, :origin, :checksum);

-- name: insert_evidence
INSERT INTO evidence (
  record_id, revision, added_by, chat_id, message_id, quote, purpose, role, author,
  message_text, status, recorded_at, checked_at)
VALUES (
  :record_id, :revision, :added_by, :chat_id, :message_id, :quote, :purpose, :role, :author,
  :message_text, :status, :recorded_at, :recorded_at);

-- name: move_head
-- The head becomes the new revision, if it still is the one that the change was made for.
UPDATE records SET
  head_revision = :revision, review = :review, state = :state, retired = :retired,
  decided_by = :decided_by, effective_at = :effective_at, valid_until = :valid_until,
  recorded_at = :recorded_at, evidence_stale = :evidence_stale, confirmations = 0,
  interpretation_hash = :interpretation_hash, strong_tokens = :strong_tokens,
  weak_tokens = :weak_tokens
WHERE record_id = :record_id AND head_revision = :expected;

-- name: insert_confirmation
INSERT OR IGNORE INTO confirmations (record_id, revision, message_id, confirmed_at, session_id)
VALUES (:record_id, :revision, :message_id, :now, :session_id);

-- name: has_evidence
SELECT 1 FROM evidence
WHERE record_id = :record_id AND revision = :revision AND message_id = :message_id
  AND quote = :quote AND purpose = :purpose;

-- name: set_evidence_status
-- The record is named too: of a row removed meanwhile, another may have the number by now.
UPDATE evidence SET status = :status, checked_at = :now
WHERE evidence_id = :evidence_id AND record_id = :record_id;

-- name: recompute_head
-- Stale and confirmed as the evidence of the head now stands. Confirmations are judged one by
-- one: a stale one is not counted, and does not make the record stale (R-025).
UPDATE records SET
  evidence_stale = EXISTS (
    SELECT 1 FROM evidence e
    WHERE e.record_id = records.record_id AND e.revision = records.head_revision
      AND e.added_by = 'revision'
      AND (e.status NOT IN ('matching', 'unindexed') OR 'unknown' IN (e.purpose, e.role))),
  confirmations = (
    SELECT count(*) FROM confirmations c
    WHERE c.record_id = records.record_id AND c.revision = records.head_revision
      AND (
        SELECT min(e.status IN ('matching', 'unindexed') AND 'unknown' NOT IN (e.purpose, e.role))
        FROM evidence e
        WHERE e.record_id = c.record_id AND e.revision = c.revision
          AND e.message_id = c.message_id))
WHERE record_id = :record_id;

-- name: insert_link
INSERT OR IGNORE INTO links (
  from_record, to_record, relation, from_revision, to_revision, recorded_at, session_id)
VALUES (:from_record, :to_record, :relation, :from_revision, :to_revision, :now, :session_id);

-- name: delete_link
DELETE FROM links
WHERE from_record = :from_record AND to_record = :to_record AND relation = :relation;

-- name: set_hidden
UPDATE records SET hidden_at = :hidden_at, hidden_by = :hidden_by WHERE record_id = :record_id;

-- name: list_hidden
-- Records that are out of sight, the latest first.
SELECT record_id, hidden_at, hidden_by FROM records
WHERE hidden_at IS NOT NULL AND (:until IS NULL OR hidden_at <= :until)
ORDER BY hidden_at DESC, record_id;

-- name: delete_record
-- Revisions, evidence, confirmations and links go with it.
DELETE FROM records WHERE record_id = :record_id;

-- name: insert_tombstone
INSERT OR REPLACE INTO record_tombstones (record_id, forgotten_at) VALUES (:record_id, :now);
