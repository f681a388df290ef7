-- Receipts by the keyed hash of their operation ID, and who this store is.

-- name: get_meta
SELECT key, value FROM meta WHERE key IN ('owner_id', 'receipt_secret');

-- name: get_receipt
SELECT status, request_key, receipt, EXISTS (
    SELECT 1 FROM receipt_records m JOIN records r USING (record_id)
    WHERE m.owner_id = :owner_id AND m.op_key = :op_key AND r.hidden_at IS NOT NULL)
FROM receipts WHERE owner_id = :owner_id AND op_key = :op_key;

-- name: insert_receipt
INSERT INTO receipts (owner_id, op_key, status, request_key, receipt, recorded_at)
VALUES (:owner_id, :op_key, 'done', :request_key, :receipt, :recorded_at);

-- name: insert_receipt_record
INSERT INTO receipt_records (owner_id, op_key, record_id) VALUES (:owner_id, :op_key, :record_id);

-- name: forget_receipts
UPDATE receipts SET status = 'forgotten', request_key = NULL, receipt = NULL
WHERE (owner_id, op_key) IN (
  SELECT owner_id, op_key FROM receipt_records WHERE record_id = :record_id);

-- name: delete_receipt_records
DELETE FROM receipt_records WHERE record_id = :record_id;
