-- Where a person wants hooks to be silent.

-- name: list_pauses
SELECT target, until FROM pauses;

-- name: put_pause
INSERT INTO pauses (target, session_id, until) VALUES (:target, :session_id, :until)
ON CONFLICT (target) DO UPDATE SET until = excluded.until;

-- name: delete_pause
DELETE FROM pauses WHERE target = :target;

-- name: delete_old_pauses
DELETE FROM pauses WHERE until <= :now;
