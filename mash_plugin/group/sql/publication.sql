-- What a node writes of itself and of its records; rows of others are out of its reach.

-- name: node
SELECT n.role_name = current_user, n.home, n.mark, m.member, m.removed_at IS NOT NULL
FROM nodes AS n JOIN members AS m ON m.role_name = n.role_name WHERE n.node_id = :node_id

-- name: register
INSERT INTO nodes (node_id, role_name, home) VALUES (:node_id, current_user, :home)
ON CONFLICT (node_id) DO NOTHING

-- name: move
UPDATE nodes SET home = :home WHERE node_id = :node_id

-- name: mark
-- First in the transaction: publications of one node stand in line here, and one that comes from
-- another home finds no row.
UPDATE nodes SET mark = :mark,
  published_at = CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)
WHERE node_id = :node_id AND home = :home
RETURNING node_id

-- name: end_soon
-- A server that hears nothing of a node that died lets go of its row.
SET LOCAL idle_in_transaction_session_timeout = 10000

-- name: digests
SELECT record_id, digest FROM pub_records
WHERE node_id = :node_id AND record_id > :after
ORDER BY record_id LIMIT :count

-- name: present
SELECT record_id FROM pub_records WHERE node_id = :node_id AND record_id = ANY(:record_ids)

-- name: remove
-- Revisions, citations, confirmations and links go with it.
DELETE FROM pub_records WHERE node_id = :node_id AND record_id = ANY(:record_ids)

-- name: insert_records
INSERT INTO pub_records (
  scope_value, node_id, record_id, scope_kind, kind, created_at, head_revision, review, state,
  retired, decided_by, effective_at, valid_until, recorded_at, evidence_stale, confirmations,
  strong_tokens, weak_tokens, digest)
SELECT scope_value, :node_id, record_id, scope_kind, kind, created_at, head_revision, review, state,
  retired, decided_by, effective_at, valid_until, recorded_at, evidence_stale, confirmations,
  strong_tokens, weak_tokens, digest
FROM jsonb_to_recordset(CAST(:rows AS JSONB)) AS r (
  scope_value TEXT, record_id TEXT, scope_kind TEXT, kind TEXT, created_at BIGINT,
  head_revision INTEGER, review TEXT, state TEXT, retired INTEGER, decided_by TEXT,
  effective_at BIGINT, valid_until BIGINT, recorded_at BIGINT, evidence_stale INTEGER,
  confirmations INTEGER, strong_tokens TEXT, weak_tokens TEXT, digest TEXT)

-- name: insert_revisions
INSERT INTO pub_revisions (
  scope_value, node_id, record_id, revision, statement, recorded_by, review, state, decided_by,
  effective_at, valid_until, reported_by, alternatives, consequences, conditions, recorded_at,
  origin)
SELECT scope_value, :node_id, record_id, revision, statement, recorded_by, review, state, decided_by,
  effective_at, valid_until, reported_by, alternatives, consequences, conditions, recorded_at,
  origin
FROM jsonb_to_recordset(CAST(:rows AS JSONB)) AS r (
  scope_value TEXT, record_id TEXT, revision INTEGER, statement TEXT, recorded_by TEXT,
  review TEXT, state TEXT, decided_by TEXT, effective_at BIGINT, valid_until BIGINT,
  reported_by TEXT, alternatives TEXT, consequences TEXT, conditions TEXT, recorded_at BIGINT,
  origin TEXT)

-- name: insert_evidence
INSERT INTO pub_evidence (
  scope_value, node_id, record_id, revision, position, added_by, chat_id, message_id, quote,
  purpose, role, author, status, recorded_at)
SELECT scope_value, :node_id, record_id, revision, position, added_by, chat_id, message_id, quote,
  purpose, role, author, status, recorded_at
FROM jsonb_to_recordset(CAST(:rows AS JSONB)) AS r (
  scope_value TEXT, record_id TEXT, revision INTEGER, position INTEGER, added_by TEXT,
  chat_id TEXT, message_id TEXT, quote TEXT, purpose TEXT, role TEXT, author TEXT, status TEXT,
  recorded_at BIGINT)

-- name: insert_confirmations
INSERT INTO pub_confirmations (scope_value, node_id, record_id, revision, message_id, confirmed_at)
SELECT scope_value, :node_id, record_id, revision, message_id, confirmed_at
FROM jsonb_to_recordset(CAST(:rows AS JSONB)) AS r (
  scope_value TEXT, record_id TEXT, revision INTEGER, message_id TEXT, confirmed_at BIGINT)

-- name: insert_links
INSERT INTO pub_links (
  scope_value, node_id, from_record, to_record, relation, from_revision, to_revision, recorded_at)
SELECT scope_value, :node_id, from_record, to_record, relation, from_revision, to_revision,
  recorded_at
FROM jsonb_to_recordset(CAST(:rows AS JSONB)) AS r (
  scope_value TEXT, from_record TEXT, to_record TEXT, relation TEXT, from_revision INTEGER,
  to_revision INTEGER, recorded_at BIGINT)
