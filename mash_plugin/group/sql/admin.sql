-- What an administrator asks of the server and of a group's tables. Roles and schemas are named
-- in statements beside the code: a parameter cannot stand for one.

-- name: wait_for_others
SELECT pg_advisory_xact_lock(:key);

-- name: schemas_of_groups
SELECT n.nspname FROM pg_namespace AS n JOIN pg_roles AS o ON o.oid = n.nspowner
WHERE n.nspname LIKE 'mash\_%' AND o.rolname = n.nspname || '_owner' ORDER BY n.nspname;

-- name: has_schema
SELECT 1 FROM pg_namespace WHERE nspname = :schema;

-- name: has_role
SELECT 1 FROM pg_roles WHERE rolname = :role;

-- name: used_in
-- A database where something belongs to the role.
SELECT min(d.datname) FROM pg_shdepend AS s
JOIN pg_database AS d ON d.oid = s.dbid JOIN pg_roles AS r ON r.oid = s.refobjid
WHERE r.rolname = :role;

-- name: owns_anything
SELECT 1 FROM pg_shdepend AS s JOIN pg_roles AS r ON r.oid = s.refobjid
WHERE r.rolname = :role LIMIT 1;

-- name: passes_rules
-- As whom a login may act that no rule between members binds.
SELECT min(r.rolname) FROM pg_roles AS r
WHERE (r.rolsuper OR r.rolbypassrls OR r.rolname = :owner)
  AND pg_has_role(:login, r.oid, 'MEMBER');

-- name: end_sessions
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE usename = :login AND pid <> pg_backend_pid();

-- name: make_versions
CREATE TABLE IF NOT EXISTS group_schema (version INTEGER PRIMARY KEY);

-- name: version
SELECT coalesce(max(version), 0) FROM group_schema;

-- name: add_version
INSERT INTO group_schema (version) VALUES (:version);

-- name: name_group
INSERT INTO group_info (group_id, name, created_at) VALUES (:group_id, :name, :now)
ON CONFLICT DO NOTHING;

-- name: is_member
-- Whether one that was listed is one still.
SELECT removed_at IS NULL FROM members WHERE role_name = :login;

-- name: enlist
INSERT INTO members (role_name, member, is_read_only, added_at)
VALUES (:login, :member, :is_read_only, :now)
ON CONFLICT (role_name) DO UPDATE SET is_read_only = excluded.is_read_only, removed_at = NULL;

-- name: count_records
SELECT coalesce(sum(records), 0) FROM nodes WHERE role_name = :login;

-- name: strike
UPDATE members SET removed_at = coalesce(removed_at, :now) WHERE role_name = :login;

-- name: delete_nodes
DELETE FROM nodes WHERE role_name = :login;

-- name: delete_member
DELETE FROM members WHERE role_name = :login;
