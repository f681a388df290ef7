-- What the dashboard looks through: records by filters, days, sessions; nothing is written.

-- name: page
-- Under a cursor, so that no page costs more than the first one.
SELECT * FROM heads r
WHERE recorded_at <= :at AND (recorded_at < :at OR record_id > :id) AND hidden_at IS NULL
  AND (:kind IS NULL OR kind = :kind)
  AND (:state IS NULL OR state = :state)
  AND (:review IS NULL OR review = :review)
  AND (:scope_kind IS NULL OR (scope_kind = :scope_kind AND scope_value = :scope_value))
  AND (:decided_by IS NULL
    OR (kind = 'decision' AND coalesce(decided_by, 'person') = :decided_by))
  AND (NOT :stale OR evidence_stale = 1)
  AND (:words IS NULL OR (
    (instr(strong_tokens, :longest) OR instr(weak_tokens, :longest))
    AND NOT EXISTS (
      SELECT 1 FROM json_each(:words) w
      WHERE instr(' ' || strong_tokens || ' ' || weak_tokens, ' ' || w.value) = 0)))
  AND (NOT :conflicted OR record_id IN (
    SELECT c.record_id FROM contradictions c
    JOIN live_heads a ON a.record_id = c.record_id JOIN live_heads b ON b.record_id = c.other_id
    WHERE a.begins_at <= :now AND :now < a.ends_at AND b.begins_at <= :now AND :now < b.ends_at))
ORDER BY recorded_at DESC, record_id LIMIT :count;

-- name: page_among
-- The same of a few records that are known to hold the words and to contradict.
SELECT h.* FROM records r CROSS JOIN heads h ON h.record_id = r.record_id
WHERE r.rowid IN (SELECT value FROM json_each(:rows))
  AND r.recorded_at <= :at AND (r.recorded_at < :at OR r.record_id > :id) AND r.hidden_at IS NULL
  AND (:kind IS NULL OR r.kind = :kind)
  AND (:state IS NULL OR r.state = :state)
  AND (:review IS NULL OR r.review = :review)
  AND (:scope_kind IS NULL OR (r.scope_kind = :scope_kind AND r.scope_value = :scope_value))
  AND (:decided_by IS NULL
    OR (r.kind = 'decision' AND coalesce(r.decided_by, 'person') = :decided_by))
  AND (NOT :stale OR r.evidence_stale = 1)
ORDER BY r.recorded_at DESC, r.record_id LIMIT :count;

-- name: groups
-- How many records there are of each combination that filters tell apart.
SELECT kind, state, review, nullif(decided_by, ''), evidence_stale, scope_kind, scope_value, records,
  NULL
FROM record_counts;

-- name: groups_found
-- The same of those alone that hold words, and which these are. In the order of the table: any
-- other reads its pages many times. The longest word is looked for first, since few rows hold it.
SELECT kind, state, review, decided_by, evidence_stale, scope_kind, scope_value, count(*),
  group_concat(rowid)
FROM records NOT INDEXED
WHERE hidden_at IS NULL AND (instr(strong_tokens, :longest) OR instr(weak_tokens, :longest))
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:words) w
    WHERE instr(' ' || strong_tokens || ' ' || weak_tokens, ' ' || w.value) = 0)
GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- name: groups_respelled
-- Those that hold every word in one of its spellings. It looks for all of them in every record.
SELECT kind, state, review, decided_by, evidence_stale, scope_kind, scope_value, count(*),
  group_concat(rowid)
FROM records NOT INDEXED
WHERE hidden_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM json_each(:words) w WHERE NOT EXISTS (
      SELECT 1 FROM json_each(w.value) s
      WHERE instr(' ' || strong_tokens || ' ' || weak_tokens || ' ', s.value)))
GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- name: groups_conflicted
-- The same of those that contradict another one, both in force; from the few links outwards.
SELECT kind, state, review, decided_by, evidence_stale, scope_kind, scope_value, count(*),
  group_concat(rowid)
FROM records
WHERE hidden_at IS NULL AND record_id IN (
    SELECT c.record_id FROM contradictions c
    CROSS JOIN live_heads a ON a.record_id = c.record_id
    CROSS JOIN live_heads b ON b.record_id = c.other_id
    WHERE a.begins_at <= :now AND :now < a.ends_at AND b.begins_at <= :now AND :now < b.ends_at)
  AND (:words IS NULL OR NOT EXISTS (
    SELECT 1 FROM json_each(:words) w
    WHERE instr(' ' || strong_tokens || ' ' || weak_tokens, ' ' || w.value) = 0))
GROUP BY 1, 2, 3, 4, 5, 6, 7;

-- name: days
-- How many records were first saved on each local day.
SELECT date(created_at / 1000, 'unixepoch', 'localtime') AS day, scope_kind, scope_value, count(*)
FROM records WHERE created_at >= :since AND hidden_at IS NULL
GROUP BY 1, 2, 3;

-- name: citing
-- The records that cite messages of a chat.
SELECT DISTINCT e.message_id, e.record_id FROM evidence e
JOIN records r ON r.record_id = e.record_id
WHERE e.chat_id = :chat_id AND r.hidden_at IS NULL
  AND e.message_id IN (SELECT value FROM json_each(:message_ids));

-- name: cited_chats
-- How many records cite each chat.
SELECT e.chat_id, count(DISTINCT e.record_id) FROM evidence e
JOIN records r ON r.record_id = e.record_id
WHERE r.hidden_at IS NULL AND e.chat_id IN (SELECT value FROM json_each(:chat_ids))
GROUP BY e.chat_id;

-- name: injected_by_day
SELECT date(s.last_activity_at / 1000, 'unixepoch', 'localtime') AS day, i.hook, sum(i.times),
  sum(i.bytes)
FROM hook_injected i JOIN hook_sessions s USING (session_id)
WHERE s.last_activity_at >= :since GROUP BY 1, 2 ORDER BY 1, 2;

-- name: injected_by_session
-- The sessions that were active last, with what all hooks together put into each.
SELECT s.session_id, s.agent, s.last_activity_at, coalesce(sum(i.times), 0),
  coalesce(sum(i.bytes), 0)
FROM (SELECT * FROM hook_sessions ORDER BY last_activity_at DESC, session_id LIMIT :count) s
LEFT JOIN hook_injected i USING (session_id)
GROUP BY s.session_id ORDER BY s.last_activity_at DESC, s.session_id;

-- name: newest_message
-- Of the chat index: grows with every message that is read.
SELECT coalesce(max(seq), 0) FROM messages;
