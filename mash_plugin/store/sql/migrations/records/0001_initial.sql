-- The record store; chats live in a file of their own.
CREATE TABLE meta (                       -- schema_version, node_id, local owner_id, receipt_secret
  key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

CREATE TABLE owners (
  owner_id TEXT PRIMARY KEY,
  label TEXT NOT NULL DEFAULT '',
  origin TEXT NOT NULL CHECK (origin IN ('local','import')),
  created_at INTEGER NOT NULL) STRICT;

CREATE TABLE chat_tombstones (            -- content-free
  chat_key BLOB PRIMARY KEY,              -- keyed hash of the chat ID
  forgotten_at INTEGER NOT NULL) STRICT;

CREATE TABLE records (
  record_id TEXT PRIMARY KEY,
  owner_id TEXT NOT NULL REFERENCES owners(owner_id),
  kind TEXT NOT NULL CHECK (kind IN ('decision','preference','fact')),
  scope_kind TEXT NOT NULL CHECK (scope_kind IN ('personal','repository','local_project','chat')),
  scope_value TEXT NOT NULL,              -- '' for personal
  created_at INTEGER NOT NULL,
  -- copies of the head revision, maintained in the same transaction
  head_revision INTEGER NOT NULL CHECK (head_revision >= 1),
  review TEXT NOT NULL CHECK (review IN ('candidate','established')),
  state TEXT NOT NULL,
  retired INTEGER NOT NULL CHECK (retired IN (0,1)),
  decided_by TEXT CHECK (decided_by IN ('person','agent')),
  effective_at INTEGER, valid_until INTEGER,
  recorded_at INTEGER NOT NULL,
  evidence_stale INTEGER NOT NULL DEFAULT 0 CHECK (evidence_stale IN (0,1)),
  confirmations INTEGER NOT NULL DEFAULT 0 CHECK (confirmations >= 0),
  interpretation_hash BLOB NOT NULL,      -- for the duplicate test
  strong_tokens TEXT NOT NULL,            -- words of statement and details, space between
  weak_tokens TEXT NOT NULL,              -- words of the quotes alone
  -- An agent asked to forget what the person established: out of sight now, removed a day later.
  hidden_at INTEGER, hidden_by TEXT,
  CHECK ((scope_kind = 'personal') = (scope_value = '')),
  CHECK (decided_by IS NULL OR kind = 'decision'),
  CHECK (valid_until IS NULL OR kind = 'fact'),
  CHECK (CASE kind
    WHEN 'decision'   THEN state IN ('proposed','accepted','superseded','withdrawn')
    WHEN 'preference' THEN state IN ('active','superseded','withdrawn')
    ELSE                   state IN ('current','superseded','retracted') END),
  CHECK (retired = (state IN ('superseded','withdrawn','retracted')))) STRICT;
-- What recall, the list and the search for changes test stands in their indexes: a row is looked up
-- only when it is shown.
CREATE INDEX records_window ON records(owner_id, scope_kind, scope_value, retired, evidence_stale,
  recorded_at DESC, record_id, effective_at, valid_until, hidden_at);
CREATE INDEX records_dup ON records(owner_id, scope_kind, scope_value, interpretation_hash) WHERE retired = 0;
CREATE INDEX records_begin ON records(owner_id, scope_kind, scope_value, effective_at)
  WHERE effective_at IS NOT NULL;
CREATE INDEX records_end ON records(owner_id, scope_kind, scope_value, valid_until)
  WHERE valid_until IS NOT NULL;
CREATE INDEX records_list ON records(recorded_at DESC, record_id, hidden_at, scope_kind,
  scope_value, kind, state, review, decided_by, evidence_stale);
CREATE INDEX records_kind ON records(owner_id, scope_kind, scope_value, kind, recorded_at DESC, record_id);
CREATE INDEX records_hidden ON records(hidden_at) WHERE hidden_at IS NOT NULL;

CREATE TABLE revisions (
  record_id TEXT NOT NULL REFERENCES records(record_id) ON DELETE CASCADE,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  statement TEXT NOT NULL CHECK (length(statement) BETWEEN 1 AND 2000),
  recorded_by TEXT NOT NULL,
  review TEXT NOT NULL CHECK (review IN ('candidate','established')),
  state TEXT NOT NULL,
  decided_by TEXT CHECK (decided_by IN ('person','agent')),
  effective_at INTEGER, valid_until INTEGER, reported_by TEXT,
  alternatives TEXT CHECK (alternatives IS NULL OR json_valid(alternatives)),
  consequences TEXT CHECK (consequences IS NULL OR json_valid(consequences)),
  conditions   TEXT CHECK (conditions   IS NULL OR json_valid(conditions)),
  recorded_at INTEGER NOT NULL,
  session_id TEXT,                        -- the session that saved it
  origin TEXT NOT NULL CHECK (origin IN ('tool','terminal')),  -- terminal: the person there
  checksum BLOB NOT NULL,                 -- over this row and its citations
  PRIMARY KEY (record_id, revision)) STRICT, WITHOUT ROWID;
-- All but the checksum, which covers where the record belongs: a moved project takes it along.
CREATE TRIGGER revisions_immutable BEFORE UPDATE OF record_id, revision, statement, recorded_by,
  review, state, decided_by, effective_at, valid_until, reported_by, alternatives, consequences,
  conditions, recorded_at, session_id, origin ON revisions
  WHEN OLD.record_id = NEW.record_id BEGIN SELECT RAISE(ABORT, 'revisions are immutable'); END;

CREATE TABLE evidence (
  evidence_id INTEGER PRIMARY KEY,
  record_id TEXT NOT NULL, revision INTEGER NOT NULL,
  added_by TEXT NOT NULL CHECK (added_by IN ('revision','confirmation')),
  chat_id TEXT NOT NULL, message_id TEXT NOT NULL,     -- no foreign key: may go missing
  quote TEXT NOT NULL CHECK (length(quote) BETWEEN 1 AND 4000),
  purpose TEXT NOT NULL CHECK (purpose IN ('context','endorsement','report','unknown')),
  role TEXT NOT NULL CHECK (role IN ('user','assistant','tool','system','unknown')),
  author TEXT NOT NULL CHECK (author IN ('person','inferred','agent','automated','unknown')),
  message_text TEXT NOT NULL,             -- outlives the transcript
  status TEXT NOT NULL CHECK (status IN ('matching','unindexed','changed','missing','role_changed','role_unknown')),
  recorded_at INTEGER NOT NULL, checked_at INTEGER NOT NULL,
  FOREIGN KEY (record_id, revision) REFERENCES revisions(record_id, revision) ON DELETE CASCADE) STRICT;
CREATE INDEX evidence_by_chat ON evidence(chat_id, record_id);
CREATE INDEX evidence_by_message ON evidence(message_id);
CREATE INDEX evidence_by_revision ON evidence(record_id, revision);

CREATE TABLE confirmations (
  record_id TEXT NOT NULL, revision INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  confirmed_at INTEGER NOT NULL,
  session_id TEXT,
  PRIMARY KEY (record_id, revision, message_id),
  FOREIGN KEY (record_id, revision) REFERENCES revisions(record_id, revision) ON DELETE CASCADE) STRICT, WITHOUT ROWID;
CREATE INDEX confirmations_at ON confirmations(confirmed_at);

CREATE TABLE links (
  link_id INTEGER PRIMARY KEY,
  from_record TEXT NOT NULL REFERENCES records(record_id) ON DELETE CASCADE,
  to_record   TEXT NOT NULL REFERENCES records(record_id) ON DELETE CASCADE,
  relation TEXT NOT NULL CHECK (relation IN ('supports','contradicts','supersedes')),
  from_revision INTEGER NOT NULL, to_revision INTEGER NOT NULL,   -- heads when linked
  recorded_at INTEGER NOT NULL,
  session_id TEXT,
  UNIQUE (from_record, to_record, relation),
  CHECK (from_record <> to_record)) STRICT;
CREATE INDEX links_in ON links(to_record, link_id);
CREATE INDEX links_at ON links(recorded_at);

-- A head as it is read out, in the order of store.records.Head.
CREATE VIEW heads AS
SELECT record_id, owner_id, kind, scope_kind, scope_value, head_revision, review, state, retired,
  decided_by, effective_at, valid_until, recorded_at, evidence_stale, confirmations,
  strong_tokens, weak_tokens, hidden_at
FROM records;
-- Those that are in force while begins_at <= now < ends_at (R-006).
CREATE VIEW live_heads AS
SELECT *, coalesce(effective_at, 0) AS begins_at,
  coalesce(valid_until, 9223372036854775807) AS ends_at
FROM heads WHERE retired = 0 AND hidden_at IS NULL;
-- Every contradicting link as each of its two ends sees it.
CREATE VIEW contradictions AS
SELECT from_record AS record_id, to_record AS other_id FROM links WHERE relation = 'contradicts'
UNION ALL
SELECT to_record, from_record FROM links WHERE relation = 'contradicts';

-- Counts what may change the answer of recall, so that a window kept in memory is never old.
CREATE TABLE record_version (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  version INTEGER NOT NULL) STRICT;
INSERT INTO record_version VALUES (1, 0);
CREATE TRIGGER records_added AFTER INSERT ON records
  BEGIN UPDATE record_version SET version = version + 1; END;
CREATE TRIGGER records_changed AFTER UPDATE ON records
  BEGIN UPDATE record_version SET version = version + 1; END;
CREATE TRIGGER records_removed AFTER DELETE ON records
  BEGIN UPDATE record_version SET version = version + 1; END;
CREATE TRIGGER links_added AFTER INSERT ON links
  BEGIN UPDATE record_version SET version = version + 1; END;
CREATE TRIGGER links_changed AFTER UPDATE ON links
  BEGIN UPDATE record_version SET version = version + 1; END;
CREATE TRIGGER links_removed AFTER DELETE ON links
  BEGIN UPDATE record_version SET version = version + 1; END;

-- How many records in sight share what filters tell apart: kept, since counting takes longer than
-- a page may. What no record has any more has no row: nothing of a forgotten scope stays.
CREATE TABLE record_counts (
  kind TEXT NOT NULL, state TEXT NOT NULL, review TEXT NOT NULL,
  decided_by TEXT NOT NULL,               -- '' where the record does not say
  evidence_stale INTEGER NOT NULL,
  scope_kind TEXT NOT NULL, scope_value TEXT NOT NULL,
  records INTEGER NOT NULL CHECK (records >= 0),
  PRIMARY KEY (kind, state, review, decided_by, evidence_stale, scope_kind, scope_value))
  STRICT, WITHOUT ROWID;
CREATE INDEX record_counts_none ON record_counts(records) WHERE records = 0;
CREATE TRIGGER counts_added AFTER INSERT ON records WHEN NEW.hidden_at IS NULL BEGIN
  INSERT INTO record_counts VALUES (NEW.kind, NEW.state, NEW.review, coalesce(NEW.decided_by, ''),
    NEW.evidence_stale, NEW.scope_kind, NEW.scope_value, 1)
  ON CONFLICT DO UPDATE SET records = records + 1; END;
CREATE TRIGGER counts_left AFTER UPDATE OF kind, state, review, decided_by, evidence_stale,
  scope_kind, scope_value, hidden_at ON records WHEN OLD.hidden_at IS NULL BEGIN
  UPDATE record_counts SET records = records - 1
  WHERE (kind, state, review, decided_by, evidence_stale, scope_kind, scope_value)
    = (OLD.kind, OLD.state, OLD.review, coalesce(OLD.decided_by, ''), OLD.evidence_stale,
    OLD.scope_kind, OLD.scope_value);
  DELETE FROM record_counts WHERE records = 0; END;
CREATE TRIGGER counts_joined AFTER UPDATE OF kind, state, review, decided_by, evidence_stale,
  scope_kind, scope_value, hidden_at ON records WHEN NEW.hidden_at IS NULL BEGIN
  INSERT INTO record_counts VALUES (NEW.kind, NEW.state, NEW.review, coalesce(NEW.decided_by, ''),
    NEW.evidence_stale, NEW.scope_kind, NEW.scope_value, 1)
  ON CONFLICT DO UPDATE SET records = records + 1; END;
CREATE TRIGGER counts_removed AFTER DELETE ON records WHEN OLD.hidden_at IS NULL BEGIN
  UPDATE record_counts SET records = records - 1
  WHERE (kind, state, review, decided_by, evidence_stale, scope_kind, scope_value)
    = (OLD.kind, OLD.state, OLD.review, coalesce(OLD.decided_by, ''), OLD.evidence_stale,
    OLD.scope_kind, OLD.scope_value);
  DELETE FROM record_counts WHERE records = 0; END;

CREATE TABLE receipts (
  owner_id TEXT NOT NULL REFERENCES owners(owner_id),
  op_key BLOB NOT NULL,                   -- keyed hash of operation_id; the ID itself is never stored
  status TEXT NOT NULL CHECK (status IN ('done','forgotten')),
  request_key BLOB,                       -- keyed hash of the canonical request
  receipt TEXT,                           -- without operation_id, which is echoed from the retry
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY (owner_id, op_key),
  CHECK ((status = 'done') = (request_key IS NOT NULL AND receipt IS NOT NULL)),
  CHECK (status = 'done' OR (request_key IS NULL AND receipt IS NULL))) STRICT, WITHOUT ROWID;
CREATE TABLE receipt_records (            -- which receipts must become tombstones on forget
  owner_id TEXT NOT NULL, op_key BLOB NOT NULL, record_id TEXT NOT NULL,
  PRIMARY KEY (record_id, owner_id, op_key),
  FOREIGN KEY (owner_id, op_key) REFERENCES receipts(owner_id, op_key) ON DELETE CASCADE) STRICT, WITHOUT ROWID;
-- Deleted text is still to be scrubbed from the file; a number, so that none is missed meanwhile.
CREATE TRIGGER records_to_scrub AFTER DELETE ON records
  BEGIN INSERT OR REPLACE INTO meta VALUES ('unclean', randomblob(8)); END;
CREATE TABLE record_tombstones (record_id TEXT PRIMARY KEY, forgotten_at INTEGER NOT NULL) STRICT;
CREATE INDEX record_tombstones_at ON record_tombstones(forgotten_at);

CREATE TABLE checkpoints (
  owner_id TEXT NOT NULL REFERENCES owners(owner_id),
  chat_id TEXT NOT NULL,
  scope_kind TEXT NOT NULL, scope_value TEXT NOT NULL,
  source_fingerprint TEXT NOT NULL,
  record_count INTEGER NOT NULL CHECK (record_count BETWEEN 0 AND 64),
  processed_at INTEGER NOT NULL,
  PRIMARY KEY (owner_id, chat_id, scope_kind, scope_value)) STRICT, WITHOUT ROWID;

CREATE TABLE backfill_items (
  chat_id TEXT PRIMARY KEY,
  agent TEXT NOT NULL CHECK (agent IN ('codex','claude-code')),
  status TEXT NOT NULL CHECK (status IN ('pending','running','failed','partial')),
  attempts INTEGER NOT NULL DEFAULT 0, last_error TEXT, updated_at INTEGER NOT NULL) STRICT;

CREATE TABLE hook_sessions (
  session_id TEXT PRIMARY KEY, agent TEXT NOT NULL,
  first_seen_at INTEGER NOT NULL, last_reminder_at INTEGER,
  last_full_block_at INTEGER,             -- what a resume has to show changed after this
  shown_sources TEXT NOT NULL DEFAULT '', -- startup, clear ...: those that had their full block
  last_activity_at INTEGER NOT NULL,
  project TEXT) STRICT;                   -- where its last hook ran
CREATE TABLE hook_injected (              -- what each hook put into a session's context
  session_id TEXT NOT NULL REFERENCES hook_sessions(session_id) ON DELETE CASCADE,
  hook TEXT NOT NULL, times INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (session_id, hook)) STRICT, WITHOUT ROWID;
CREATE TABLE pauses (                     -- a person's: hooks are silent there until then
  target TEXT PRIMARY KEY,                -- `session:ID`, or `project:` and its identity or path
  session_id TEXT REFERENCES hook_sessions(session_id) ON DELETE CASCADE,
  until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX pauses_session ON pauses(session_id);
CREATE TABLE hook_files (
  session_id TEXT NOT NULL REFERENCES hook_sessions(session_id) ON DELETE CASCADE,
  reader TEXT NOT NULL,                   -- a subagent's ID, '' for the session's own agent
  path TEXT NOT NULL,                     -- '' at the start of the session
  shown_id TEXT NOT NULL,                 -- of a record, or `chat:ID`
  shown_at INTEGER NOT NULL,
  in_context INTEGER NOT NULL DEFAULT 1 CHECK (in_context IN (0,1)),  -- 0: compacted since
  PRIMARY KEY (session_id, reader, path, shown_id, shown_at)) STRICT, WITHOUT ROWID;
CREATE INDEX hook_files_shown ON hook_files(shown_at);
CREATE TABLE hook_heartbeats (            -- last hook seen per agent, for status and doctor
  agent TEXT NOT NULL, hook TEXT NOT NULL, seen_at INTEGER NOT NULL,
  PRIMARY KEY (agent, hook)) STRICT, WITHOUT ROWID;
CREATE TABLE hook_latency (               -- how many answers took at most so long, by day
  day INTEGER NOT NULL, hook TEXT NOT NULL,
  limit_ms INTEGER NOT NULL,              -- 0: longer than any limit
  answers INTEGER NOT NULL, first_at INTEGER NOT NULL,
  PRIMARY KEY (day, hook, limit_ms)) STRICT, WITHOUT ROWID;

CREATE TABLE imports (                    -- what was taken in, so that the same file is known again
  import_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('export','mine','identity','memory')),
  source TEXT NOT NULL,                   -- node and generation of an export, or which tool's memory
  checksum BLOB NOT NULL,                 -- of the file; of a tool's memory a keyed hash
  chat_id TEXT,                           -- the chat that stands for a tool's memory
  records INTEGER NOT NULL,
  imported_at INTEGER NOT NULL,
  UNIQUE (kind, source, checksum)) STRICT;
CREATE TABLE imported_records (
  record_id TEXT PRIMARY KEY REFERENCES records(record_id) ON DELETE CASCADE,
  import_id TEXT NOT NULL REFERENCES imports(import_id) ON DELETE CASCADE) STRICT, WITHOUT ROWID;
CREATE INDEX imported_records_by_import ON imported_records(import_id);

CREATE TABLE publication (                -- outbox towards the group: records to look at again
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,  -- a record that changed since it was read has another
  record_id TEXT NOT NULL UNIQUE,
  queued_at INTEGER NOT NULL,
  failure TEXT) STRICT;                   -- why it was set aside; its next change tries again
CREATE INDEX publication_waiting ON publication(sequence, record_id, queued_at) WHERE failure IS NULL;
-- In the transaction of the change, and only while a group is joined. Not INSERT OR REPLACE: a
-- trigger takes over the conflict clause of the statement that it runs for.
CREATE TRIGGER publication_added AFTER INSERT ON records
  WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'group_id') BEGIN
  DELETE FROM publication WHERE record_id = NEW.record_id;
  INSERT INTO publication (record_id, queued_at)
  VALUES (NEW.record_id, CAST(unixepoch('subsec') * 1000 AS INTEGER)); END;
CREATE TRIGGER publication_changed AFTER UPDATE ON records
  WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'group_id') BEGIN
  DELETE FROM publication WHERE record_id = NEW.record_id;
  INSERT INTO publication (record_id, queued_at)
  VALUES (NEW.record_id, CAST(unixepoch('subsec') * 1000 AS INTEGER)); END;
CREATE TRIGGER publication_removed AFTER DELETE ON records
  WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'group_id') BEGIN
  DELETE FROM publication WHERE record_id = OLD.record_id;
  INSERT INTO publication (record_id, queued_at)
  VALUES (OLD.record_id, CAST(unixepoch('subsec') * 1000 AS INTEGER)); END;
-- A link is published with the record that it goes out from.
CREATE TRIGGER publication_linked AFTER INSERT ON links
  WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'group_id') BEGIN
  DELETE FROM publication WHERE record_id = NEW.from_record;
  INSERT INTO publication (record_id, queued_at)
  VALUES (NEW.from_record, CAST(unixepoch('subsec') * 1000 AS INTEGER)); END;
CREATE TRIGGER publication_unlinked AFTER DELETE ON links
  WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'group_id') BEGIN
  DELETE FROM publication WHERE record_id = OLD.from_record;
  INSERT INTO publication (record_id, queued_at)
  VALUES (OLD.from_record, CAST(unixepoch('subsec') * 1000 AS INTEGER)); END;
