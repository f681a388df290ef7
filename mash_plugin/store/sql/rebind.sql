-- Records that follow a folder to its new place.

-- name: list_scopes
-- The folder itself and those below it, by whole components of the path.
SELECT scope_value, count(*) FROM records
WHERE scope_kind = 'local_project'
  AND (scope_value = :path OR substr(scope_value, 1, length(:path) + 1) = :path || '/')
GROUP BY scope_value ORDER BY scope_value;

-- name: list_ids
SELECT record_id FROM records
WHERE scope_kind = :kind AND scope_value = :value ORDER BY record_id;

-- name: move_record
UPDATE records SET scope_kind = :kind, scope_value = :value,
  interpretation_hash = coalesce(:interpretation_hash, interpretation_hash)
WHERE record_id = :record_id;

-- name: set_checksum
UPDATE revisions SET checksum = :checksum WHERE record_id = :record_id AND revision = :revision;

-- name: move_checkpoints
-- Of two reviews of one chat the moved one counts.
UPDATE OR REPLACE checkpoints SET scope_kind = :kind, scope_value = :value
WHERE scope_kind = 'local_project' AND scope_value = :old;
