-- What a login is on the server, and whether rows are kept apart there.

-- name: may_enter
SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = :schema

-- name: look
SELECT (SELECT max(version) FROM group_schema),
  (SELECT group_id FROM group_info),
  (SELECT member FROM members WHERE role_name = session_user AND removed_at IS NULL),
  (SELECT is_read_only FROM members WHERE role_name = session_user),
  -- Also by SET ROLE: whoever may act as another may do what the other may.
  (SELECT min(r.rolname) FROM pg_roles AS r
    WHERE (r.rolsuper OR r.rolbypassrls OR r.rolname = :owner)
      AND pg_has_role(session_user, r.oid, 'MEMBER'))

-- name: tables_open_to_all
SELECT relname FROM pg_class
WHERE relnamespace = CAST(:schema AS regnamespace) AND relkind IN ('r', 'p')
  AND NOT (relrowsecurity AND relforcerowsecurity)
ORDER BY relname

-- name: members
SELECT m.member, m.is_read_only, m.removed_at IS NOT NULL, count(n.node_id),
  coalesce(sum(n.records), 0), max(n.published_at)
FROM members AS m LEFT JOIN nodes AS n ON n.role_name = m.role_name
GROUP BY m.member, m.is_read_only, m.removed_at ORDER BY m.member

-- name: own_node
SELECT records, quota, published_at FROM nodes
WHERE node_id = :node AND role_name = current_user

-- name: own_records
SELECT records FROM nodes WHERE node_id = :node AND role_name = current_user

-- name: remove_node
DELETE FROM nodes WHERE node_id = :node AND role_name = current_user
