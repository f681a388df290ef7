-- What the dashboard's page of a group shows.

-- name: members
SELECT m.member, m.is_read_only, m.removed_at IS NOT NULL, m.member = :reader
FROM members AS m ORDER BY m.member LIMIT :count;

-- name: nodes
-- The members' nodes in their order, the fullest first.
SELECT m.member, n.node_id, n.label, n.records, n.quota, n.published_at
FROM nodes AS n JOIN members AS m ON m.role_name = n.role_name
ORDER BY m.member, n.records DESC, n.node_id LIMIT :count;
