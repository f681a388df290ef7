-- What members read of each other's published copies.
--
-- A list walks through the nodes in the order of their IDs, and through the records of a node from
-- the newest on. A filter of kind, state or review is told as the kinds of heads that it lets
-- through (20 at most), so that each of them is one range of an index, however rare it is: nothing
-- is read and thrown away, and no page costs more at the end of a list than at its beginning.

-- name: node_of_scope
-- The first node behind another with such a record in the scope.
SELECT min(found.node_id)
FROM unnest(CAST(:kinds AS text[]), CAST(:states AS text[]), CAST(:reviews AS text[]))
  AS f (kind, state, review)
CROSS JOIN LATERAL (
  SELECT r.node_id FROM pub_records AS r
  WHERE r.scope_value = :scope_value AND r.scope_kind = :scope_kind
    AND r.kind = f.kind AND r.state = f.state AND r.review = f.review AND r.node_id > :after
  ORDER BY r.node_id LIMIT 1) AS found;

-- name: node
-- The same whatever the scope.
SELECT min(found.node_id)
FROM unnest(CAST(:kinds AS text[]), CAST(:states AS text[]), CAST(:reviews AS text[]))
  AS f (kind, state, review)
CROSS JOIN LATERAL (
  SELECT r.node_id FROM pub_records AS r
  WHERE r.kind = f.kind AND r.state = f.state AND r.review = f.review AND r.node_id > :after
  ORDER BY r.node_id LIMIT 1) AS found;

-- name: node_of_chat
-- The same of the records of which a revision or confirmation cites a chat (R-096).
SELECT min(r.node_id)
FROM pub_evidence AS e
JOIN pub_records AS r ON r.scope_value = e.scope_value AND r.node_id = e.node_id
  AND r.record_id = e.record_id
WHERE e.chat_id = :chat AND e.node_id > :after
  AND (CAST(:scope_kind AS text) IS NULL
    OR (r.scope_kind = :scope_kind AND r.scope_value = :scope_value))
  AND (r.kind, r.state, r.review) IN (
    SELECT kind, state, review
    FROM unnest(CAST(:kinds AS text[]), CAST(:states AS text[]), CAST(:reviews AS text[]))
      AS f (kind, state, review));

-- name: keys_of_scope
-- The next records of a node in the scope.
SELECT k.scope_value, k.recorded_at, k.record_id
FROM unnest(CAST(:kinds AS text[]), CAST(:states AS text[]), CAST(:reviews AS text[]))
  AS f (kind, state, review)
CROSS JOIN LATERAL (
  SELECT r.scope_value, r.recorded_at, r.record_id FROM pub_records AS r
  WHERE r.scope_value = :scope_value AND r.scope_kind = :scope_kind
    AND r.kind = f.kind AND r.state = f.state AND r.review = f.review AND r.node_id = :node_id
    AND r.recorded_at <= :recorded_at
    AND (r.recorded_at < :recorded_at OR r.record_id > :record_id)
  ORDER BY r.recorded_at DESC, r.record_id LIMIT :count) AS k
ORDER BY k.recorded_at DESC, k.record_id LIMIT :count

-- name: keys
-- The same whatever the scope.
SELECT k.scope_value, k.recorded_at, k.record_id
FROM unnest(CAST(:kinds AS text[]), CAST(:states AS text[]), CAST(:reviews AS text[]))
  AS f (kind, state, review)
CROSS JOIN LATERAL (
  SELECT r.scope_value, r.recorded_at, r.record_id FROM pub_records AS r
  WHERE r.kind = f.kind AND r.state = f.state AND r.review = f.review AND r.node_id = :node_id
    AND r.recorded_at <= :recorded_at
    AND (r.recorded_at < :recorded_at OR r.record_id > :record_id)
  ORDER BY r.recorded_at DESC, r.record_id LIMIT :count) AS k
ORDER BY k.recorded_at DESC, k.record_id LIMIT :count

-- name: keys_of_chat
-- The same of the records that cite a chat.
SELECT r.scope_value, r.recorded_at, r.record_id
FROM (SELECT DISTINCT e.scope_value, e.record_id FROM pub_evidence AS e
  WHERE e.chat_id = :chat AND e.node_id = :node_id) AS cited
JOIN pub_records AS r ON r.scope_value = cited.scope_value AND r.node_id = :node_id
  AND r.record_id = cited.record_id
WHERE (CAST(:scope_kind AS text) IS NULL
    OR (r.scope_kind = :scope_kind AND r.scope_value = :scope_value))
  AND (r.kind, r.state, r.review) IN (
    SELECT kind, state, review
    FROM unnest(CAST(:kinds AS text[]), CAST(:states AS text[]), CAST(:reviews AS text[]))
      AS f (kind, state, review))
  AND r.recorded_at <= :recorded_at
  AND (r.recorded_at < :recorded_at OR r.record_id > :record_id)
ORDER BY r.recorded_at DESC, r.record_id LIMIT :count

-- name: known_node
SELECT 1 FROM nodes WHERE node_id = :node_id;

-- name: key_of_record
SELECT r.scope_value, r.recorded_at, r.record_id FROM pub_records AS r
WHERE r.node_id = :node_id AND r.record_id = :record_id ORDER BY r.scope_value LIMIT 1

-- name: heads
-- The copies that `keys` names, with their newest wording. The owner is who the node's login
-- belongs to, whatever a row may say.
SELECT r.record_id,
  (SELECT m.member FROM nodes AS n JOIN members AS m ON m.role_name = n.role_name
    WHERE n.node_id = :node_id),
  r.kind, r.scope_kind, r.scope_value,
  r.head_revision, r.review, r.state, r.retired, r.decided_by, r.effective_at, r.valid_until,
  r.recorded_at, r.evidence_stale, r.confirmations,
  EXISTS (
    SELECT 1 FROM pub_links AS l
    JOIN pub_records AS o ON o.node_id = l.node_id AND o.record_id = l.to_record
    WHERE l.scope_value = r.scope_value AND l.node_id = r.node_id AND l.from_record = r.record_id
      AND l.relation = 'contradicts' AND o.retired = 0
      AND (o.effective_at IS NULL OR o.effective_at <= :now)
      AND (o.valid_until IS NULL OR o.valid_until > :now))
  OR EXISTS (
    SELECT 1 FROM pub_links AS l
    JOIN pub_records AS o ON o.scope_value = l.scope_value AND o.node_id = l.node_id
      AND o.record_id = l.from_record
    WHERE l.node_id = r.node_id AND l.to_record = r.record_id
      AND l.relation = 'contradicts' AND o.retired = 0
      AND (o.effective_at IS NULL OR o.effective_at <= :now)
      AND (o.valid_until IS NULL OR o.valid_until > :now)) AS contradicted,
  v.revision, v.statement, v.recorded_by, v.review, v.state, v.decided_by, v.effective_at,
  v.valid_until, v.reported_by, v.alternatives, v.consequences, v.conditions, v.recorded_at,
  v.origin
FROM keys AS k
JOIN pub_records AS r ON r.scope_value = k.scope_value AND r.node_id = :node_id
  AND r.record_id = k.record_id
LEFT JOIN pub_revisions AS v ON v.scope_value = r.scope_value AND v.node_id = r.node_id
  AND v.record_id = r.record_id AND v.revision = r.head_revision
ORDER BY r.recorded_at DESC, r.record_id;

-- name: revisions
-- The newest wordings below one (R-104).
SELECT revision, statement, recorded_by, review, state, decided_by, effective_at, valid_until,
  reported_by, alternatives, consequences, conditions, recorded_at, origin
FROM pub_revisions
WHERE scope_value = :scope_value AND node_id = :node_id AND record_id = :record_id
  AND revision < :before
ORDER BY revision DESC LIMIT :count;

-- name: evidence
-- Of some revisions the first citations of each: the server bounds what one copy may hold, this
-- what one answer may.
SELECT revision, chat_id, message_id, quote, purpose, role, author, status, added_by, recorded_at
FROM (
  SELECT e.revision, e.position, e.chat_id, e.message_id, left(e.quote, :longest) AS quote,
    e.purpose, e.role, e.author, e.status, e.added_by, e.recorded_at,
    row_number() OVER (PARTITION BY e.revision ORDER BY e.position) AS place
  FROM pub_evidence AS e
  WHERE e.scope_value = :scope_value AND e.node_id = :node_id AND e.record_id = :record_id
    AND e.revision = ANY(:revisions)) AS ordered
WHERE place <= :count
ORDER BY revision, position;

-- name: confirmations
SELECT revision, message_id, confirmed_at FROM pub_confirmations
WHERE scope_value = :scope_value AND node_id = :node_id AND record_id = :record_id
  AND revision = ANY(:revisions)
ORDER BY revision, confirmed_at, message_id;

-- name: links
-- Both directions, oldest first; only to records that the node has published, too.
SELECT l.direction, l.relation, o.record_id, coalesce(v.statement, ''), o.state, o.retired,
  o.effective_at, o.valid_until, l.recorded_at, o.scope_kind, o.scope_value
FROM (
  SELECT 'outgoing' AS direction, relation, to_record AS other, recorded_at FROM pub_links
  WHERE scope_value = :scope_value AND node_id = :node_id AND from_record = :record_id
  UNION ALL
  SELECT 'incoming', relation, from_record, recorded_at FROM pub_links
  WHERE node_id = :node_id AND to_record = :record_id) AS l
JOIN pub_records AS o ON o.node_id = :node_id AND o.record_id = l.other
LEFT JOIN pub_revisions AS v ON v.scope_value = o.scope_value AND v.node_id = o.node_id
  AND v.record_id = o.record_id AND v.revision = o.head_revision
ORDER BY l.recorded_at, l.direction, l.other, l.relation
LIMIT :count OFFSET :start;
