-- The chat index: rebuilt from transcripts when lost, so it may be written without waiting.
CREATE TABLE meta (key TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;

CREATE TABLE chats (
  chat_no INTEGER PRIMARY KEY,
  chat_id TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,                   -- claude-code, codex
  session_id TEXT NOT NULL,
  parent_session TEXT,
  title TEXT, project_path TEXT, repository_identity TEXT,
  started_at INTEGER, last_active_at INTEGER,
  is_subagent INTEGER NOT NULL CHECK (is_subagent IN (0,1)),
  generation INTEGER NOT NULL DEFAULT 0,  -- which rows of chat_messages are the chat as it stands
  message_count INTEGER NOT NULL DEFAULT 0,
  fingerprint TEXT NOT NULL DEFAULT '',
  indexed_at INTEGER NOT NULL,
  UNIQUE (source, session_id)) STRICT;
CREATE INDEX chats_by_repository ON chats(repository_identity, last_active_at DESC);
CREATE INDEX chats_by_path ON chats(project_path, last_active_at DESC);
CREATE INDEX chats_by_time ON chats(last_active_at DESC);
CREATE INDEX chats_by_session ON chats(session_id);

-- Once each, however many forks hold it. No CHECK: five of them would double the insert's time.
CREATE TABLE messages (
  seq INTEGER PRIMARY KEY,                -- row number of the full-text index
  message_id TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL,                     -- user, assistant, tool, system
  author TEXT NOT NULL,                   -- person, inferred, agent, automated, unknown
  text TEXT NOT NULL,                     -- private spans already removed
  person_text TEXT,                       -- what the person visibly typed, where it differs
  is_all_typed INTEGER NOT NULL DEFAULT 0,
  is_headless INTEGER NOT NULL DEFAULT 0,
  has_private INTEGER NOT NULL DEFAULT 0,
  sent_at INTEGER,
  tool_use_ids TEXT                       -- space between
) STRICT;

CREATE TABLE chat_messages (              -- which messages a chat holds, in order
  chat_no INTEGER NOT NULL REFERENCES chats(chat_no) ON DELETE CASCADE,
  generation INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (chat_no, generation, ordinal)) STRICT, WITHOUT ROWID;
CREATE INDEX chat_messages_by_message ON chat_messages(seq, chat_no, generation);

CREATE TABLE private_shingles (           -- keyed hashes of private text; the text is kept nowhere
  hash INTEGER NOT NULL, seq INTEGER NOT NULL,
  PRIMARY KEY (hash, seq)) STRICT, WITHOUT ROWID;
CREATE INDEX private_shingles_by_message ON private_shingles(seq);

CREATE TABLE files (                      -- how far each transcript has been read
  path TEXT PRIMARY KEY,
  agent TEXT NOT NULL,
  session_id TEXT NOT NULL,
  is_subagent INTEGER NOT NULL CHECK (is_subagent IN (0,1)),
  chat_no INTEGER,                        -- no foreign key: see save_file
  device INTEGER NOT NULL, inode INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
  offset INTEGER NOT NULL DEFAULT 0,      -- end of the last complete line taken in
  block_sums BLOB NOT NULL DEFAULT x'',   -- checksums of what was taken in, for rewrites
  turn INTEGER NOT NULL DEFAULT 0,        -- which blocks of a long file are compared next
  generation INTEGER NOT NULL DEFAULT 0,
  ordinal INTEGER NOT NULL DEFAULT 0,
  chain TEXT NOT NULL DEFAULT '',         -- fingerprint up to here
  reader TEXT NOT NULL DEFAULT '{}',
  reader_version INTEGER NOT NULL,
  lines_skipped INTEGER NOT NULL DEFAULT 0,
  bytes_skipped INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX files_by_session ON files(session_id);
CREATE INDEX files_by_chat ON files(chat_no);

CREATE VIRTUAL TABLE messages_fts USING fts5(
  tokens, content='', contentless_delete=1, tokenize='ascii');
INSERT INTO messages_fts(messages_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO messages_fts(messages_fts, rank) VALUES ('hashsize', 8388608);
CREATE VIRTUAL TABLE messages_vocab USING fts5vocab(messages_fts, 'row');
