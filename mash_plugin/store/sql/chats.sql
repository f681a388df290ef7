-- name: meta_value
SELECT value FROM meta WHERE key = :key;

-- name: insert_meta
INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING;

-- name: file_by_path  how far a transcript has been read
SELECT path, agent, session_id, is_subagent, chat_no, device, inode, size, mtime_ns, offset,
       block_sums, turn, generation, ordinal, chain, reader, reader_version, lines_skipped,
       bytes_skipped
FROM files WHERE path = :path;

-- name: paths_of_chat  every file that held a chat
SELECT path FROM files WHERE chat_no = :chat_no;

-- name: paths_of_session
SELECT agent, path, is_subagent FROM files WHERE session_id = :session_id;

-- name: is_known_file
SELECT 1 FROM files WHERE path = :path;

-- name: insert_file
INSERT INTO files (path, agent, session_id, is_subagent, chat_no, device, inode, size,
  mtime_ns, offset, block_sums, turn, generation, ordinal, chain, reader, reader_version,
  lines_skipped, bytes_skipped)
VALUES (:path, :agent, :session_id, :is_subagent, :chat_no, :device, :inode, :size,
  :mtime_ns, :offset, :block_sums, :turn, :generation, :ordinal, :chain, :reader, :reader_version,
  :lines_skipped, :bytes_skipped);

-- name: update_file
UPDATE files SET chat_no = :chat_no, device = :device, inode = :inode, size = :size,
  mtime_ns = :mtime_ns, offset = :offset, block_sums = :block_sums, turn = :turn,
  generation = :generation, ordinal = :ordinal, chain = :chain, reader = :reader,
  reader_version = :reader_version, lines_skipped = :lines_skipped, bytes_skipped = :bytes_skipped
WHERE path = :path;

-- name: delete_file
DELETE FROM files WHERE path = :path;

-- name: read_again  another file of a chat that was rebuilt adds its messages once more
UPDATE files SET offset = 0, size = -1, block_sums = x'', reader = '{}', generation = :generation
WHERE chat_no = :chat_no AND path <> :path;

-- name: chat_state
SELECT chat_no, generation, message_count, fingerprint FROM chats
WHERE source = :source AND session_id = :session_id;

-- name: insert_chat
INSERT INTO chats (chat_id, source, session_id, is_subagent, indexed_at)
VALUES (:chat_id, :source, :session_id, :is_subagent, :now);

-- name: describe_chat  what the newest lines tell about a chat
UPDATE chats SET
  title = coalesce(:title, title, :first_words),
  parent_session = coalesce(:parent_session, parent_session),
  project_path = coalesce(:project_path, project_path),
  repository_identity = coalesce(:repository_identity, repository_identity),
  started_at = min(coalesce(started_at, :started_at), coalesce(:started_at, started_at)),
  last_active_at = max(coalesce(last_active_at, :last_active_at),
                       coalesce(:last_active_at, last_active_at)),
  indexed_at = :now
WHERE chat_no = :chat_no;

-- name: grow_chat
UPDATE chats SET generation = :generation, message_count = :message_count,
  fingerprint = :fingerprint WHERE chat_no = :chat_no;

-- name: known_messages  which of these IDs are stored already
SELECT message_id, seq, text, role, author FROM messages
WHERE message_id IN (SELECT value FROM json_each(:ids));

-- name: is_placed  whether a chat, as it is being read, holds a message already
SELECT 1 FROM chat_messages
WHERE seq = :seq AND chat_no = :chat_no AND generation = :generation;

-- name: is_held_elsewhere  whether another chat holds a message
SELECT 1 FROM chat_messages JOIN chats USING (chat_no, generation)
WHERE seq = :seq AND chat_no <> :chat_no LIMIT 1;

-- name: last_seq
SELECT coalesce(max(seq), 0) FROM messages;

-- name: insert_message
INSERT INTO messages (seq, message_id, role, author, text, person_text, is_all_typed, is_headless,
  has_private, sent_at, tool_use_ids)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: replace_message
UPDATE messages SET role = ?3, author = ?4, text = ?5, person_text = ?6, is_all_typed = ?7,
  is_headless = ?8, has_private = ?9, sent_at = ?10, tool_use_ids = ?11
WHERE seq = ?1 AND message_id = ?2;

-- name: place_message
INSERT INTO chat_messages (chat_no, generation, ordinal, seq) VALUES (?, ?, ?, ?);

-- name: index_tokens
INSERT INTO messages_fts (rowid, tokens) VALUES (?, ?);

-- name: drop_tokens
DELETE FROM messages_fts WHERE rowid = :seq;

-- name: insert_shingle
INSERT OR IGNORE INTO private_shingles (hash, seq) VALUES (?, ?);

-- name: drop_shingles
DELETE FROM private_shingles WHERE seq = :seq;

-- name: orphans_of  messages that only an outdated reading of a chat held
SELECT DISTINCT old.seq FROM chat_messages AS old
WHERE old.chat_no = :chat_no AND old.generation <> :generation
  AND NOT EXISTS (SELECT 1 FROM chat_messages AS other WHERE other.seq = old.seq
                  AND (other.chat_no <> old.chat_no OR other.generation = :generation));

-- name: delete_message
DELETE FROM messages WHERE seq = :seq;

-- name: drop_old_places
DELETE FROM chat_messages WHERE chat_no = :chat_no AND generation <> :generation;

-- name: chat_by_id
SELECT c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM chats AS c WHERE c.chat_id = :chat_id;

-- name: transcripts_of
SELECT f.path FROM files AS f JOIN chats AS c ON c.chat_no = f.chat_no
WHERE c.chat_id = :chat_id;

-- name: chats_by_session
SELECT c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM chats AS c WHERE c.session_id = :session_id ORDER BY c.last_active_at DESC LIMIT 1;

-- name: places_of  where the chats of a repository took place, the newest first
SELECT project_path FROM chats
WHERE repository_identity = :identity AND project_path IS NOT NULL
ORDER BY last_active_at DESC;

-- name: chats_of_message
SELECT c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM chat_messages AS p JOIN chats AS c USING (chat_no, generation)
JOIN messages AS m USING (seq)
WHERE m.message_id = :message_id ORDER BY c.started_at, c.chat_no;

-- name: list_chats  newest first
SELECT c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM chats AS c
WHERE (:repository IS NULL OR c.repository_identity = :repository)
  AND (:project_path IS NULL OR c.project_path = :project_path)
  AND c.is_subagent = 0
ORDER BY c.last_active_at DESC, c.chat_no DESC LIMIT :limit OFFSET :offset;

-- name: chats_active_since  newest first
SELECT c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM chats AS c WHERE c.last_active_at >= :since AND c.is_subagent = 0
ORDER BY c.last_active_at DESC, c.chat_no DESC;

-- name: review_size  the bytes that a reviewer reads, with what comes beside each message
SELECT coalesce(sum(octet_length(m.text) + 100), 0)
FROM chats AS c JOIN chat_messages AS p USING (chat_no, generation) JOIN messages AS m USING (seq)
WHERE c.chat_id = :chat_id AND m.role <> 'tool' AND trim(m.text) <> '';

-- name: recent_by_repository
SELECT c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM chats AS c
WHERE c.repository_identity = :identity AND c.is_subagent = 0 AND c.last_active_at <= :now
  AND (:exclude_session IS NULL OR c.session_id <> :exclude_session)
ORDER BY c.last_active_at DESC LIMIT :limit;

-- name: recent_by_path
SELECT c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM chats AS c
WHERE c.project_path = :root AND c.is_subagent = 0 AND c.last_active_at <= :now
  AND (:exclude_session IS NULL OR c.session_id <> :exclude_session)
ORDER BY c.last_active_at DESC LIMIT :limit;

-- name: messages_newest_first
SELECT m.message_id, c.chat_id, p.ordinal, m.role, m.author, m.text, m.person_text,
       m.is_all_typed, m.is_headless, m.sent_at, m.has_private, m.tool_use_ids, m.seq
FROM chats AS c JOIN chat_messages AS p USING (chat_no, generation) JOIN messages AS m USING (seq)
WHERE c.chat_id = :chat_id ORDER BY p.ordinal DESC;

-- name: prompts_newest_first  what the person asked, looking back a bounded way
SELECT m.message_id, c.chat_id, p.ordinal, m.role, m.author, m.text, m.person_text,
       m.is_all_typed, m.is_headless, m.sent_at, m.has_private, m.tool_use_ids, m.seq
FROM chats AS c JOIN chat_messages AS p USING (chat_no, generation) JOIN messages AS m USING (seq)
WHERE c.chat_id = :chat_id AND p.ordinal >= c.message_count - :look_back AND m.role = 'user'
  AND (m.author IN ('person', 'inferred') OR (m.author = 'unknown' AND m.is_headless))
ORDER BY p.ordinal DESC LIMIT :limit;

-- name: messages_before  from an ordinal downwards
SELECT m.message_id, c.chat_id, p.ordinal, m.role, m.author, m.text, m.person_text,
       m.is_all_typed, m.is_headless, m.sent_at, m.has_private, m.tool_use_ids, m.seq
FROM chats AS c JOIN chat_messages AS p USING (chat_no, generation) JOIN messages AS m USING (seq)
WHERE c.chat_id = :chat_id AND p.ordinal < :ordinal ORDER BY p.ordinal DESC;

-- name: messages_from  from an ordinal upwards
SELECT m.message_id, c.chat_id, p.ordinal, m.role, m.author, m.text, m.person_text,
       m.is_all_typed, m.is_headless, m.sent_at, m.has_private, m.tool_use_ids, m.seq
FROM chats AS c JOIN chat_messages AS p USING (chat_no, generation) JOIN messages AS m USING (seq)
WHERE c.chat_id = :chat_id AND p.ordinal >= :ordinal ORDER BY p.ordinal;

-- name: message_by_id  in the chat that had it first
SELECT m.message_id, c.chat_id, p.ordinal, m.role, m.author, m.text, m.person_text,
       m.is_all_typed, m.is_headless, m.sent_at, m.has_private, m.tool_use_ids, m.seq
FROM messages AS m JOIN chat_messages AS p USING (seq)
JOIN chats AS c USING (chat_no, generation)
WHERE m.message_id = :message_id
  AND (:chat_id IS NULL OR c.chat_id = :chat_id)
ORDER BY c.started_at, c.chat_no LIMIT 1;

-- name: has_private_shingle  whether a chat's private text shares one of these hashes
SELECT 1 FROM private_shingles AS s JOIN chat_messages AS p USING (seq)
JOIN chats AS c USING (chat_no, generation)
WHERE s.hash IN (SELECT value FROM json_each(:hashes))
  AND (:chat_id IS NULL OR c.chat_id = :chat_id) LIMIT 1;

-- name: has_private_text  whether anything private is known of at all
SELECT 1 FROM private_shingles LIMIT 1;

-- name: words_from  words of the index that begin so, and how many messages hold each
SELECT term, doc FROM messages_vocab WHERE term >= :first AND term < :end LIMIT :limit;

-- name: count_matches  at most so many
SELECT count(*) FROM (
  SELECT 1 FROM messages_fts WHERE messages_fts MATCH :match LIMIT :limit);

-- name: best_matches
SELECT rowid, rank FROM messages_fts WHERE messages_fts MATCH :match ORDER BY rank LIMIT :limit;

-- name: newest_matches
SELECT rowid, 0.0 FROM messages_fts WHERE messages_fts MATCH :match
ORDER BY rowid DESC LIMIT :limit;

-- name: held_within  which messages the chats of a scope hold
SELECT DISTINCT p.seq FROM chat_messages AS p JOIN chats AS c USING (chat_no, generation)
WHERE p.seq IN (SELECT value FROM json_each(:seqs))
  AND (:repository IS NULL OR c.repository_identity = :repository)
  AND (:project_path IS NULL OR c.project_path = :project_path)
  AND (:chat_id IS NULL OR c.chat_id = :chat_id);

-- name: best_within  the best among the chats of a scope
SELECT f.rowid, f.rank FROM messages_fts AS f
WHERE messages_fts MATCH :match AND EXISTS (
  SELECT 1 FROM chat_messages AS p JOIN chats AS c USING (chat_no, generation)
  WHERE p.seq = f.rowid
    AND (:repository IS NULL OR c.repository_identity = :repository)
    AND (:project_path IS NULL OR c.project_path = :project_path)
    AND (:chat_id IS NULL OR c.chat_id = :chat_id))
ORDER BY f.rank LIMIT :limit;

-- name: newest_within  the newest among the chats of a scope, looking back a bounded way
SELECT f.seq, 0.0 FROM (
  SELECT rowid AS seq FROM messages_fts WHERE messages_fts MATCH :match
  ORDER BY rowid DESC LIMIT 20000) AS f
WHERE EXISTS (
  SELECT 1 FROM chat_messages AS p JOIN chats AS c USING (chat_no, generation)
  WHERE p.seq = f.seq
    AND (:repository IS NULL OR c.repository_identity = :repository)
    AND (:project_path IS NULL OR c.project_path = :project_path)
    AND (:chat_id IS NULL OR c.chat_id = :chat_id))
ORDER BY f.seq DESC LIMIT :limit;

-- name: found_messages  rows of a search with the chats that hold each
SELECT m.seq, m.message_id, m.text, m.role, m.author, m.sent_at, c.chat_id, c.title, c.project_path,
       p.chat_no, p.generation, p.ordinal
FROM messages AS m JOIN chat_messages AS p USING (seq)
JOIN chats AS c USING (chat_no, generation)
WHERE m.seq IN (SELECT value FROM json_each(:seqs))
  AND (:repository IS NULL OR c.repository_identity = :repository)
  AND (:project_path IS NULL OR c.project_path = :project_path)
  AND (:chat_id IS NULL OR c.chat_id = :chat_id)
ORDER BY c.started_at, c.chat_no;

-- name: exchanges
-- Of messages in their chats: where the prompt before stands, where the exchange ends, as far as
-- both are near; and whether a tool call follows at once.
WITH held AS (SELECT value ->> 0 AS chat_no, value ->> 1 AS generation, value ->> 2 AS ordinal
  FROM json_each(:places))
SELECT h.chat_no, h.generation, h.ordinal,
  (SELECT p.ordinal FROM chat_messages AS p JOIN messages AS m USING (seq)
   WHERE p.chat_no = h.chat_no AND p.generation = h.generation
     AND p.ordinal <= h.ordinal AND p.ordinal > h.ordinal - :reach
     AND m.role = 'user' AND m.author <> 'automated' ORDER BY p.ordinal DESC LIMIT 1),
  coalesce(
    (SELECT p.ordinal FROM chat_messages AS p JOIN messages AS m USING (seq)
     WHERE p.chat_no = h.chat_no AND p.generation = h.generation
       AND p.ordinal > h.ordinal AND p.ordinal < h.ordinal + :reach
       AND m.role = 'user' AND m.author <> 'automated' ORDER BY p.ordinal LIMIT 1),
    (SELECT max(p.ordinal) + 1 FROM chat_messages AS p
     WHERE p.chat_no = h.chat_no AND p.generation = h.generation)) - 1,
  (SELECT m.role = 'tool' OR m.tool_use_ids IS NOT NULL
   FROM chat_messages AS p JOIN messages AS m USING (seq)
   WHERE p.chat_no = h.chat_no AND p.generation = h.generation AND p.ordinal = h.ordinal + 1)
FROM held AS h;

-- name: messages_at  what was said at these places of chats, as rows of a search
SELECT m.seq, m.message_id, m.text, m.role, m.author, m.sent_at, c.chat_id, c.title, c.project_path,
       p.chat_no, p.generation, p.ordinal
FROM json_each(:places) AS h
JOIN chat_messages AS p ON p.chat_no = h.value ->> 0 AND p.generation = h.value ->> 1
  AND p.ordinal = h.value ->> 2
JOIN chats AS c ON c.chat_no = p.chat_no
JOIN messages AS m ON m.seq = p.seq
WHERE m.role IN ('user', 'assistant') AND m.tool_use_ids IS NULL AND m.author <> 'automated';

-- name: mentions
-- Messages of a project that hold a phrase, those of the newest chats first, among its newest hits
-- anywhere; texts are read as they are asked for. The plus keeps FTS5 from walking backwards,
-- which costs ten times as much as sorting what it finds.
WITH hits AS MATERIALIZED (
  SELECT rowid AS seq FROM messages_fts WHERE messages_fts MATCH :match
  ORDER BY +rowid DESC LIMIT :hits),
placed AS MATERIALIZED (
  SELECT seq, chat_no FROM hits
  JOIN chat_messages AS p USING (seq) JOIN chats AS c USING (chat_no, generation)
  WHERE c.is_subagent = 0
    AND (:repository IS NULL OR c.repository_identity = :repository)
    AND (:project_path IS NULL OR c.project_path = :project_path)
  ORDER BY coalesce(c.last_active_at, 0) DESC, c.chat_id, seq DESC LIMIT :limit)
SELECT m.text, m.role = 'user' AND m.author IN ('person', 'inferred'),
       c.chat_id, c.source, c.session_id, c.title, c.project_path, c.repository_identity,
       c.started_at, c.last_active_at, c.fingerprint, c.is_subagent, c.message_count, c.chat_no
FROM placed CROSS JOIN messages AS m USING (seq) CROSS JOIN chats AS c USING (chat_no);

-- name: counts
SELECT (SELECT count(*) FROM chats), (SELECT coalesce(sum(message_count), 0) FROM chats),
       (SELECT coalesce(sum(bytes_skipped), 0) FROM files),
       (SELECT coalesce(sum(lines_skipped), 0) FROM files);

-- name: rebuilt_chats
-- Chats whose transcript was rewritten at some time since the index began.
SELECT chat_id FROM chats WHERE generation > 0;

-- name: chats_to_forget
-- A chat, and the chats of the agents that it started, however deep.
WITH RECURSIVE gone(chat_no, source, session_id) AS (
  SELECT chat_no, source, session_id FROM chats WHERE chat_id = :chat_id
  UNION
  SELECT c.chat_no, c.source, c.session_id FROM gone AS g JOIN chats AS c
    ON c.source = g.source AND c.chat_no <> g.chat_no
    AND (c.parent_session = g.session_id
         OR substr(c.session_id, 1, length(g.session_id) + 1) = g.session_id || '/'))
SELECT c.chat_no, c.chat_id, c.source, c.session_id, c.title, c.message_count
FROM gone JOIN chats AS c USING (chat_no) ORDER BY c.chat_no;

-- name: chats_of_project
-- The chats of a repository, or of a folder with all below it; and of the agents that they started.
WITH RECURSIVE gone(chat_no, source, session_id) AS (
  SELECT chat_no, source, session_id FROM chats
  WHERE repository_identity = :identity OR project_path = :path
     OR substr(project_path, 1, length(:path) + 1) = :path || '/'
  UNION
  SELECT c.chat_no, c.source, c.session_id FROM gone AS g JOIN chats AS c
    ON c.source = g.source AND c.chat_no <> g.chat_no
    AND (c.parent_session = g.session_id
         OR substr(c.session_id, 1, length(g.session_id) + 1) = g.session_id || '/'))
SELECT c.chat_no, c.chat_id, c.source, c.session_id, c.title, c.message_count
FROM gone JOIN chats AS c USING (chat_no) ORDER BY c.last_active_at DESC, c.chat_no;

-- name: all_chats
SELECT chat_no, source, session_id, parent_session FROM chats;

-- name: chats_ended_before  the oldest first
SELECT chat_no FROM chats WHERE last_active_at < :since ORDER BY last_active_at LIMIT :limit;

-- name: chat_ages  when the oldest chat ended, and how many ended before a time
SELECT (SELECT min(last_active_at) FROM chats),
       (SELECT count(*) FROM chats WHERE last_active_at < :since);

-- name: largest_projects
SELECT coalesce(repository_identity, project_path) AS project, count(*), sum(message_count)
FROM chats GROUP BY project ORDER BY sum(message_count) DESC, project LIMIT :limit;

-- name: known_paths
SELECT path FROM files;

-- name: held_only_by
-- Messages of these chats, in any reading of them, that no other chat holds.
SELECT DISTINCT p.seq FROM chat_messages AS p
WHERE p.chat_no IN (SELECT value FROM json_each(:chats))
  AND NOT EXISTS (SELECT 1 FROM chat_messages AS o WHERE o.seq = p.seq
                  AND o.chat_no NOT IN (SELECT value FROM json_each(:chats)));

-- name: count_held
-- How many messages these chats hold, and how many of them another chat holds too.
SELECT count(*), coalesce(sum(EXISTS (
  SELECT 1 FROM chat_messages AS o WHERE o.seq = p.seq
  AND o.chat_no NOT IN (SELECT value FROM json_each(:chats)))), 0)
FROM (SELECT DISTINCT seq FROM chat_messages
      WHERE chat_no IN (SELECT value FROM json_each(:chats))) AS p;

-- name: also_held_by
SELECT DISTINCT c.chat_id FROM chat_messages AS p
JOIN chat_messages AS o USING (seq) JOIN chats AS c ON c.chat_no = o.chat_no
WHERE p.chat_no IN (SELECT value FROM json_each(:chats))
  AND o.chat_no NOT IN (SELECT value FROM json_each(:chats))
ORDER BY c.chat_id;

-- name: files_of_chats
SELECT path FROM files WHERE chat_no IN (SELECT value FROM json_each(:chats))
  OR session_id IN (SELECT session_id FROM chats
                    WHERE chat_no IN (SELECT value FROM json_each(:chats)))
ORDER BY path;

-- name: delete_places
DELETE FROM chat_messages WHERE chat_no IN (SELECT value FROM json_each(:chats));

-- name: delete_chats
DELETE FROM chats WHERE chat_no IN (SELECT value FROM json_each(:chats));

-- name: set_unclean
INSERT OR REPLACE INTO meta VALUES ('unclean', randomblob(8));

-- name: begin_merge
-- secure-delete has no effect on an index without content: a deleted message's words stay in its
-- segment until that is merged. A negative number takes every segment into one merge.
INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', -:pages);

-- name: go_on_merging
INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', :pages);
