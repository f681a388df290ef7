-- name: record_counts  how many records, of which the agent may be reminded
SELECT count(*),
       coalesce(sum(review = 'established' AND retired = 0), 0),
       coalesce(sum(review = 'candidate' AND retired = 0), 0)
FROM records WHERE hidden_at IS NULL;

-- name: chat_counts  how much of the chats is searchable
SELECT (SELECT count(*) FROM chats), (SELECT count(*) FROM messages);
