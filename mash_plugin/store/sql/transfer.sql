-- What exports read and imports write, row by row, beside what changes.sql writes of records.

-- name: meta
SELECT key, value FROM meta
WHERE key IN ('node_id', 'owner_id', 'receipt_secret', 'generation');

-- name: owners
SELECT owner_id, label, origin, created_at FROM owners ORDER BY created_at, owner_id;

-- name: records
-- Heads, those out of sight only with a complete export.
SELECT record_id, hidden_by FROM records
WHERE (:scopes IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:scopes) s
    WHERE s.value ->> 0 = scope_kind AND s.value ->> 1 = scope_value))
  AND (:hidden OR hidden_at IS NULL)
ORDER BY created_at, record_id;

-- name: revision_count
SELECT count(*) FROM records r JOIN revisions USING (record_id)
WHERE (:scopes IS NULL OR EXISTS (
    SELECT 1 FROM json_each(:scopes) s
    WHERE s.value ->> 0 = r.scope_kind AND s.value ->> 1 = r.scope_value))
  AND (:hidden OR r.hidden_at IS NULL);

-- name: confirmations
SELECT message_id, confirmed_at, session_id FROM confirmations
WHERE record_id = :record_id AND revision = :revision ORDER BY confirmed_at, message_id;

-- name: links
SELECT l.from_record, l.to_record, l.relation, l.from_revision, l.to_revision, l.recorded_at,
  l.session_id
FROM links l JOIN records a ON a.record_id = l.from_record
JOIN records b ON b.record_id = l.to_record
WHERE (:scopes IS NULL OR (
    EXISTS (SELECT 1 FROM json_each(:scopes) s
            WHERE s.value ->> 0 = a.scope_kind AND s.value ->> 1 = a.scope_value)
    AND EXISTS (SELECT 1 FROM json_each(:scopes) s
                WHERE s.value ->> 0 = b.scope_kind AND s.value ->> 1 = b.scope_value)))
  AND (:hidden OR (a.hidden_at IS NULL AND b.hidden_at IS NULL))
ORDER BY l.link_id;

-- name: checkpoints
SELECT owner_id, chat_id, scope_kind, scope_value, source_fingerprint, record_count, processed_at
FROM checkpoints
WHERE :scopes IS NULL OR EXISTS (
  SELECT 1 FROM json_each(:scopes) s
  WHERE s.value ->> 0 = scope_kind AND s.value ->> 1 = scope_value)
ORDER BY owner_id, chat_id, scope_kind, scope_value;

-- name: receipts
SELECT owner_id, op_key, status, request_key, receipt, recorded_at FROM receipts
ORDER BY recorded_at, owner_id, op_key;

-- name: receipt_records
SELECT record_id FROM receipt_records WHERE owner_id = :owner_id AND op_key = :op_key
ORDER BY record_id;

-- name: forgotten
SELECT 'record', record_id, forgotten_at FROM record_tombstones
UNION ALL
SELECT 'chat', lower(hex(chat_key)), forgotten_at FROM chat_tombstones
ORDER BY 1, 3, 2;

-- name: imports
SELECT import_id, kind, source, checksum, chat_id, records, imported_at FROM imports
ORDER BY imported_at, import_id;

-- name: imported_records
SELECT record_id FROM imported_records WHERE import_id = :import_id ORDER BY record_id;

-- name: is_empty
-- Whether nothing was ever remembered here; what hooks and the index note does not count.
SELECT NOT EXISTS (
  SELECT 1 FROM records UNION ALL SELECT 1 FROM receipts UNION ALL SELECT 1 FROM checkpoints
  UNION ALL SELECT 1 FROM record_tombstones UNION ALL SELECT 1 FROM chat_tombstones
  UNION ALL SELECT 1 FROM imports);

-- name: find_import
SELECT import_id, records, imported_at FROM imports
WHERE kind = :kind AND source = :source AND checksum = :checksum;

-- name: memory_import
SELECT chat_id FROM imports WHERE import_id = :import_id AND kind = 'memory';

-- name: project_of_folder
-- Where most chats of one folder of transcripts took place.
SELECT c.repository_identity, c.project_path
FROM files f JOIN chats c USING (chat_no)
WHERE f.path >= :folder AND f.path < :folder || char(1114111) AND c.project_path IS NOT NULL
GROUP BY 1, 2 ORDER BY count(*) DESC, 2 LIMIT 1;

-- name: insert_import
INSERT INTO imports (import_id, kind, source, checksum, chat_id, records, imported_at)
VALUES (:import_id, :kind, :source, :checksum, :chat_id, :records, :imported_at);

-- name: count_imported
UPDATE imports SET records = :records WHERE import_id = :import_id;

-- name: delete_import
DELETE FROM imports WHERE import_id = :import_id;

-- name: insert_imported
INSERT INTO imported_records (record_id, import_id) VALUES (:record_id, :import_id);

-- name: move_imported
-- A record that comes back with its store came of the import that first brought it.
UPDATE imported_records SET import_id = :import_id WHERE record_id = :record_id;

-- name: import_of_record
SELECT import_id FROM imported_records WHERE record_id = :record_id;

-- name: set_meta
INSERT OR REPLACE INTO meta (key, value) VALUES (:key, :value);

-- name: has_own_owner
SELECT 1 FROM owners JOIN meta ON CAST(meta.value AS TEXT) = owner_id
WHERE key = 'owner_id' AND origin = 'local';

-- name: delete_owner
DELETE FROM owners WHERE owner_id = :owner_id;

-- name: insert_owner
INSERT OR IGNORE INTO owners (owner_id, label, origin, created_at)
VALUES (:owner_id, :label, :origin, :created_at);

-- name: drop_record
-- One that is not to be kept after all, in the transaction that wrote it: it leaves no mark.
DELETE FROM records WHERE record_id = :record_id;

-- name: twins_of
-- Live records of the same owner and scope that say the same.
SELECT t.record_id FROM records r JOIN records t USING (
  owner_id, scope_kind, scope_value, interpretation_hash)
WHERE r.record_id = :record_id AND t.record_id <> r.record_id
  AND t.retired = 0 AND t.hidden_at IS NULL
ORDER BY t.recorded_at, t.record_id LIMIT 1;

-- name: own_twin
-- Whether a record of the person says the same.
SELECT 1 FROM records r JOIN records t USING (scope_kind, scope_value, interpretation_hash)
WHERE r.record_id = :record_id AND t.owner_id = :owner_id AND t.retired = 0
  AND t.hidden_at IS NULL
LIMIT 1;

-- name: set_hidden
UPDATE records SET hidden_at = :hidden_at, hidden_by = :hidden_by WHERE record_id = :record_id;

-- name: insert_confirmation
INSERT INTO confirmations (record_id, revision, message_id, confirmed_at, session_id)
VALUES (:record_id, :revision, :message_id, :confirmed_at, :session_id);

-- name: insert_link
INSERT INTO links (
  from_record, to_record, relation, from_revision, to_revision, recorded_at, session_id)
VALUES (
  :from, :to, :relation, :from_revision, :to_revision, :recorded_at, :session_id);

-- name: insert_known_link
-- Between records that an earlier import or the person brought together already.
INSERT OR IGNORE INTO links (
  from_record, to_record, relation, from_revision, to_revision, recorded_at, session_id)
VALUES (
  :from, :to, :relation, :from_revision, :to_revision, :recorded_at, :session_id);

-- name: insert_checkpoint
INSERT OR IGNORE INTO checkpoints (
  owner_id, chat_id, scope_kind, scope_value, source_fingerprint, record_count, processed_at)
VALUES (
  :owner, :chat, :scope_kind, :scope_value, :source_fingerprint, :record_count, :processed_at);

-- name: insert_receipt
INSERT INTO receipts (owner_id, op_key, status, request_key, receipt, recorded_at)
VALUES (:owner, :op_key, :status, :request_key, :receipt, :recorded_at);

-- name: insert_receipt_record
INSERT INTO receipt_records (owner_id, op_key, record_id) VALUES (:owner, :op_key, :record_id);

-- name: delete_receipts_of
-- Of a tool's memory that was taken in and is taken back: it may be taken in again.
DELETE FROM receipts WHERE (owner_id, op_key) IN (
  SELECT owner_id, op_key FROM receipt_records WHERE record_id = :record_id);

-- name: insert_record_mark
INSERT OR IGNORE INTO record_tombstones (record_id, forgotten_at) VALUES (:name, :at);

-- name: insert_chat_mark
INSERT OR IGNORE INTO chat_tombstones (chat_key, forgotten_at) VALUES (:name, :at);

-- name: supersedes_cycle
-- A record that replaces itself by way of others; looked for from one end.
WITH RECURSIVE reached(id) AS (
  SELECT to_record FROM links WHERE from_record = :record_id AND relation = 'supersedes'
  UNION
  SELECT l.to_record FROM reached JOIN links l
    ON l.from_record = reached.id AND l.relation = 'supersedes')
SELECT 1 FROM reached WHERE id = :record_id;

-- name: chats
SELECT chat_no, chat_id, source, session_id, parent_session, title, project_path,
  repository_identity, started_at, last_active_at, is_subagent, indexed_at
FROM chats
WHERE :scopes IS NULL OR EXISTS (
  SELECT 1 FROM json_each(:scopes) s
  WHERE (s.value ->> 0 = 'repository' AND s.value ->> 1 = repository_identity)
    OR (s.value ->> 0 = 'local_project' AND s.value ->> 1 = project_path)
    OR (s.value ->> 0 = 'chat' AND s.value ->> 1 = chat_id))
ORDER BY chat_no;

-- name: message_count
SELECT coalesce(sum(message_count), 0) FROM chats
WHERE :scopes IS NULL OR EXISTS (
  SELECT 1 FROM json_each(:scopes) s
  WHERE (s.value ->> 0 = 'repository' AND s.value ->> 1 = repository_identity)
    OR (s.value ->> 0 = 'local_project' AND s.value ->> 1 = project_path)
    OR (s.value ->> 0 = 'chat' AND s.value ->> 1 = chat_id));

-- name: messages
SELECT m.message_id, m.role, m.author, m.text, m.person_text, m.is_all_typed, m.is_headless,
  m.has_private, m.sent_at, m.tool_use_ids, m.seq
FROM chats AS c JOIN chat_messages AS p USING (chat_no, generation) JOIN messages AS m USING (seq)
WHERE c.chat_no = :chat_no ORDER BY p.ordinal;

-- name: shingles
SELECT hash FROM private_shingles WHERE seq = :seq ORDER BY hash;

-- name: has_shingles
SELECT 1 FROM private_shingles LIMIT 1;

-- name: insert_chat
INSERT INTO chats (chat_id, source, session_id, parent_session, title, project_path,
  repository_identity, started_at, last_active_at, is_subagent, indexed_at)
VALUES (:id, :source, :session, :parent_session, :title, :project_path,
  :repository, :started_at, :last_active_at, :is_subagent, :indexed_at);
