-- name: record_counts  how many records, of which the agent may be reminded
SELECT count(*),
       coalesce(sum(review = 'established' AND retired = 0), 0),
       coalesce(sum(review = 'candidate' AND retired = 0), 0)
FROM records WHERE hidden_at IS NULL;

-- name: chat_counts  how much of the chats is searchable
SELECT (SELECT count(*) FROM chats), (SELECT count(*) FROM messages);

-- name: scope_counts  live records of one scope, and when the last of them was saved
SELECT count(*), max(recorded_at) FROM records
WHERE owner_id = :owner_id AND scope_kind = :scope_kind AND scope_value = :scope_value
  AND retired = 0 AND hidden_at IS NULL;
