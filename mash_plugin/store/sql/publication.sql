-- The outbox towards the group; triggers of the schema fill it while a group is joined.

-- name: get_state
SELECT CAST(value AS TEXT) FROM meta WHERE key = 'group_state';

-- name: set_meta
INSERT OR REPLACE INTO meta (key, value) VALUES (:key, :value);

-- name: leave
DELETE FROM meta WHERE key IN ('group_id', 'group_state');

-- name: empty
DELETE FROM publication;

-- name: waiting
SELECT sequence, record_id FROM publication WHERE failure IS NULL ORDER BY sequence LIMIT :count;

-- name: take_out
-- Under the sequence that was read: what changed since stays.
DELETE FROM publication WHERE sequence IN (SELECT value FROM json_each(:sequences));

-- name: set_aside
UPDATE publication SET failure = :failure WHERE sequence = :sequence;

-- name: retry
UPDATE publication SET failure = NULL WHERE failure IS NOT NULL;

-- name: queue
INSERT INTO publication (record_id, queued_at)
SELECT value, :now FROM json_each(:record_ids) WHERE true
ON CONFLICT (record_id) DO UPDATE SET failure = NULL;

-- name: backlog
SELECT count(*) FILTER (WHERE failure IS NULL), min(queued_at) FILTER (WHERE failure IS NULL),
  count(failure)
FROM publication;

-- name: refused
SELECT record_id, failure FROM publication WHERE failure IS NOT NULL ORDER BY sequence LIMIT :count;

-- name: node_id
SELECT CAST(value AS TEXT) FROM meta WHERE key = 'node_id';

-- name: ids_after
SELECT record_id FROM records
WHERE record_id > :after ORDER BY record_id LIMIT :count;

-- name: scopes
-- Every place that records may be published from.
SELECT DISTINCT scope_kind, scope_value FROM records WHERE scope_kind IN ('repository', 'chat');

-- name: outgoing
SELECT to_record, relation, from_revision, to_revision, recorded_at FROM links
WHERE from_record = :record_id ORDER BY link_id;

-- name: has_private
-- Of the chat index: whether private text stands in a chat.
SELECT 1 FROM chats JOIN chat_messages USING (chat_no, generation) JOIN messages USING (seq)
WHERE chat_id = :chat_id AND has_private LIMIT 1;

-- name: newest_private
-- Of the chat index: the newest message of which private text is known again.
SELECT max(seq) FROM private_shingles;
