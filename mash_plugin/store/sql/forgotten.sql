-- Chats that were forgotten, what hangs on them, and whether deleted text is still to be scrubbed.

-- name: insert_mark
INSERT INTO chat_tombstones (chat_key, forgotten_at) VALUES (:chat_key, :now)
ON CONFLICT (chat_key) DO NOTHING;

-- name: delete_mark
DELETE FROM chat_tombstones WHERE chat_key = :chat_key;

-- name: has_marks
SELECT 1 FROM chat_tombstones LIMIT 1;

-- name: has_mark
SELECT 1 FROM chat_tombstones WHERE chat_key = :chat_key;

-- name: records_of_chats
-- Every record that cites one of these chats in any revision or confirmation, or is about one.
SELECT record_id FROM (
  SELECT record_id FROM evidence WHERE chat_id IN (SELECT value FROM json_each(:chat_ids))
  UNION
  SELECT record_id FROM records
  WHERE scope_kind = 'chat' AND scope_value IN (SELECT value FROM json_each(:chat_ids)))
ORDER BY record_id;

-- name: describe_records
SELECT r.record_id, r.kind, r.review, r.state, r.recorded_at, v.statement
FROM records AS r JOIN revisions AS v ON v.record_id = r.record_id AND v.revision = r.head_revision
WHERE r.record_id IN (SELECT value FROM json_each(:record_ids))
ORDER BY r.recorded_at DESC, r.record_id;

-- name: count_checkpoints
SELECT count(*) FROM checkpoints WHERE chat_id IN (SELECT value FROM json_each(:chat_ids));

-- name: delete_checkpoints
DELETE FROM checkpoints WHERE chat_id IN (SELECT value FROM json_each(:chat_ids));

-- name: delete_backfill
DELETE FROM backfill_items WHERE chat_id IN (SELECT value FROM json_each(:chat_ids));

-- name: delete_shown  that other sessions were shown one of these chats
DELETE FROM hook_files WHERE shown_id IN (SELECT 'chat:' || value FROM json_each(:chat_ids));

-- name: delete_sessions
DELETE FROM hook_sessions WHERE session_id IN (SELECT value FROM json_each(:session_ids));

-- name: delete_askers  which of these sessions asked to forget something
UPDATE receipts SET receipt = json_remove(receipt, '$.asked_by')
WHERE receipt ->> '$.asked_by.session_id' IN (SELECT value FROM json_each(:session_ids));

-- name: set_unclean
INSERT OR REPLACE INTO meta VALUES ('unclean', randomblob(8));

-- name: get_unclean
SELECT value FROM meta WHERE key = 'unclean';

-- name: delete_unclean
DELETE FROM meta WHERE key = 'unclean' AND value = :seen;

-- name: all_record_marks
SELECT record_id FROM record_tombstones;

-- name: all_chat_marks
SELECT chat_key FROM chat_tombstones;

-- name: all_records
SELECT record_id FROM records;

-- name: chats_named
SELECT chat_id FROM evidence UNION SELECT chat_id FROM checkpoints
UNION SELECT chat_id FROM backfill_items
UNION SELECT scope_value FROM records WHERE scope_kind = 'chat'
UNION SELECT substr(shown_id, 6) FROM hook_files WHERE shown_id LIKE 'chat:%';

-- name: hook_sessions
SELECT agent, session_id FROM hook_sessions;
