-- What the copies for recall are fetched with.

-- name: state
-- Changes with every publication of another member.
SELECT md5(coalesce(string_agg(n.node_id || ' ' || n.records || ' ' || coalesce(n.mark, ''), ','
  ORDER BY n.node_id), ''))
FROM nodes AS n WHERE n.role_name <> current_user;

-- name: established_of_others
-- The newest of each node, through the index pub_records_scope, then the newest of those: no more
-- keys are sorted than nodes times that many, and texts are read of the chosen alone: of so many
-- bytes at most, whatever a member may have filled its rows with.
WITH newest AS MATERIALIZED (
  SELECT r.scope_value, r.node_id, r.record_id, r.recorded_at, m.member
  FROM nodes AS n
  JOIN members AS m ON m.role_name = n.role_name
  CROSS JOIN LATERAL (
    SELECT p.scope_value, p.node_id, p.record_id, p.recorded_at FROM pub_records AS p
    WHERE p.scope_value = :identity AND p.node_id = n.node_id AND p.scope_kind = 'repository'
      AND p.review = 'established' AND p.retired = 0 AND p.evidence_stale = 0
      AND (p.valid_until IS NULL OR p.valid_until > :now)
    ORDER BY p.recorded_at DESC, p.record_id
    LIMIT :count) AS r
  WHERE n.role_name <> current_user
  ORDER BY r.recorded_at DESC, r.record_id, r.node_id
  LIMIT :count),
whole AS (
  SELECT r.scope_value, r.record_id, r.node_id, c.member, r.kind, r.recorded_at, r.confirmations,
    r.strong_tokens, r.weak_tokens, v.revision, v.statement, v.recorded_by, v.review, v.state,
    v.decided_by, v.effective_at, v.valid_until, v.reported_by, v.alternatives, v.consequences,
    v.conditions, v.recorded_at AS reworded_at, v.origin,
    sum(octet_length(r.strong_tokens) + octet_length(r.weak_tokens) + octet_length(v.statement)
      + coalesce(octet_length(v.alternatives), 0) + coalesce(octet_length(v.consequences), 0)
      + coalesce(octet_length(v.conditions), 0))
      OVER (ORDER BY c.recorded_at DESC, c.record_id, c.node_id) AS bytes
  FROM newest AS c
  JOIN pub_records AS r ON r.scope_value = c.scope_value AND r.node_id = c.node_id
    AND r.record_id = c.record_id
  JOIN pub_revisions AS v ON v.scope_value = r.scope_value AND v.node_id = r.node_id
    AND v.record_id = r.record_id AND v.revision = r.head_revision)
SELECT r.record_id, r.node_id, r.member, r.kind, r.recorded_at, r.confirmations, r.strong_tokens,
  r.weak_tokens, r.revision, r.statement, r.recorded_by, r.review, r.state, r.decided_by,
  r.effective_at, r.valid_until, r.reported_by, r.alternatives, r.consequences, r.conditions,
  r.reworded_at, r.origin
FROM whole AS r
WHERE r.bytes <= :bytes
  AND NOT EXISTS (
    SELECT 1 FROM pub_links AS l
    JOIN pub_records AS o ON o.node_id = l.node_id AND o.record_id = l.to_record
    WHERE l.scope_value = r.scope_value AND l.node_id = r.node_id AND l.from_record = r.record_id
      AND l.relation = 'contradicts' AND o.retired = 0
      AND (o.effective_at IS NULL OR o.effective_at <= :now)
      AND (o.valid_until IS NULL OR o.valid_until > :now))
  AND NOT EXISTS (
    SELECT 1 FROM pub_links AS l
    JOIN pub_records AS o ON o.node_id = l.node_id AND o.record_id = l.from_record
    WHERE l.node_id = r.node_id AND l.to_record = r.record_id
      AND l.relation = 'contradicts' AND o.retired = 0
      AND (o.effective_at IS NULL OR o.effective_at <= :now)
      AND (o.valid_until IS NULL OR o.valid_until > :now));
