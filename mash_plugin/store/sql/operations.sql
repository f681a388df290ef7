-- Receipts by the keyed hash of their operation ID, and who this store is.

-- name: get_meta
SELECT key, value FROM meta WHERE key IN ('owner_id', 'receipt_secret');

-- name: get_receipt
SELECT status, request_key, receipt FROM receipts WHERE owner_id = :owner_id AND op_key = :op_key;

-- name: insert_receipt
INSERT INTO receipts (owner_id, op_key, status, request_key, receipt, recorded_at)
VALUES (:owner_id, :op_key, 'done', :request_key, :receipt, :recorded_at);

-- name: insert_receipt_record
INSERT INTO receipt_records (owner_id, op_key, record_id) VALUES (:owner_id, :op_key, :record_id);
