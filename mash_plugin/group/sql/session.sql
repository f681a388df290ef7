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
