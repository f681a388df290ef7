-- Who a store is, and since when.

-- name: set_meta
INSERT OR REPLACE INTO meta (key, value) VALUES (:key, :value);

-- name: insert_owner
INSERT INTO owners VALUES (:owner_id, '', 'local', :now);
