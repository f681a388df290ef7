-- Heads beside which a new statement is held.

-- name: newest_of_kind
-- The newest heads of a scope and kind, whatever became of them, through the index records_kind.
SELECT r.record_id, r.owner_id, r.kind, r.scope_kind, r.scope_value, r.head_revision, r.review,
  r.state, r.retired, r.decided_by, r.effective_at, r.valid_until, r.recorded_at,
  r.evidence_stale, r.confirmations, r.strong_tokens, r.weak_tokens, r.hidden_at,
  v.statement, r.interpretation_hash
FROM records r JOIN revisions v ON v.record_id = r.record_id AND v.revision = r.head_revision
WHERE r.owner_id = :owner_id AND r.scope_kind = :scope_kind AND r.scope_value = :scope_value
  AND r.kind = :kind AND r.hidden_at IS NULL
ORDER BY r.recorded_at DESC, r.record_id
LIMIT :count;
