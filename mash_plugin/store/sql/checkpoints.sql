-- Which version of a chat an agent claims to have reviewed, by owner, chat and scope (R-113).

-- name: get_checkpoint
SELECT source_fingerprint, processed_at FROM checkpoints
WHERE owner_id = :owner_id AND chat_id = :chat_id
  AND scope_kind = :scope_kind AND scope_value = :scope_value;

-- name: failed_reviews
SELECT chat_id FROM backfill_items WHERE status = 'failed';

-- name: note_failed_review
INSERT INTO backfill_items (chat_id, agent, status, attempts, last_error, updated_at)
VALUES (:chat_id, :agent, 'failed', 1, :kind, :now)
ON CONFLICT (chat_id) DO UPDATE SET agent = excluded.agent, status = 'failed',
  attempts = attempts + 1, last_error = excluded.last_error, updated_at = excluded.updated_at;

-- name: drop_failed_review
DELETE FROM backfill_items WHERE chat_id = :chat_id;

-- name: save_checkpoint
INSERT INTO checkpoints (
  owner_id, chat_id, scope_kind, scope_value, source_fingerprint, record_count, processed_at)
VALUES (
  :owner_id, :chat_id, :scope_kind, :scope_value, :source_fingerprint, :record_count,
  :processed_at)
ON CONFLICT (owner_id, chat_id, scope_kind, scope_value) DO UPDATE SET
  source_fingerprint = excluded.source_fingerprint, record_count = excluded.record_count,
  processed_at = excluded.processed_at;
