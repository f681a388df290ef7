-- What the doctor reads of a store and of an index that lie on the disk.

-- name: record_ids  the newest first; of hidden ones too, which `mash undo` brings back
SELECT record_id FROM records ORDER BY recorded_at DESC;

-- name: count_stale  records in force whose quotes no longer stand in their chats
SELECT count(*) FROM records WHERE evidence_stale = 1 AND retired = 0;

-- name: saved_between  when the first and the last revision were saved; null with none
SELECT min(recorded_at), max(recorded_at) FROM revisions;

-- name: count_recorded_after
SELECT count(*) FROM records WHERE recorded_at > :at;

-- name: count_hidden_before  records that should have been removed by now
SELECT count(*) FROM records WHERE hidden_at < :at;

-- name: count_unpublished
SELECT count(*) FROM publication WHERE failure IS NULL AND queued_at < :at;

-- name: folders_of_hooks
SELECT DISTINCT project FROM hook_sessions WHERE project IS NOT NULL;

-- name: folders_of_chats
SELECT DISTINCT project_path FROM chats WHERE project_path IS NOT NULL;

-- name: read_files  each transcript as it was when it was read
SELECT path, size, mtime_ns FROM files;

-- name: count_chats
SELECT count(*) FROM chats;

-- name: last_chats  when each agent was last used by a person
SELECT source, max(last_active_at) FROM chats WHERE is_subagent = 0 GROUP BY source;
