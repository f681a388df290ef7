CREATE TABLE mm_memories (
  mem_id TEXT PRIMARY KEY CHECK (length(mem_id) = 16 AND mem_id NOT GLOB '*[^0-9a-f]*'),
  agent_id TEXT NOT NULL,
  stage TEXT NOT NULL CHECK (stage IN ('working', 'long_term')),
  category TEXT NOT NULL,
  significance REAL NOT NULL CHECK (significance BETWEEN 0 AND 1),
  text TEXT NOT NULL,
  event_at INTEGER,
  stored_at INTEGER NOT NULL,
  sort_at INTEGER NOT NULL, -- the time of the event, else of the capture
  session_id TEXT,
  channel TEXT,
  source_kind TEXT CHECK (source_kind IN ('chat', 'cron', 'heartbeat')),
  artifact_key TEXT,
  status TEXT,
  source_mem_id TEXT, -- of a promoted copy; no foreign key, for originals expire
  words TEXT NOT NULL -- what a search compares, a space between
) STRICT;
CREATE UNIQUE INDEX mm_capture_index ON mm_memories (agent_id, session_id, artifact_key)
  WHERE stage = 'working' AND artifact_key IS NOT NULL;
CREATE UNIQUE INDEX mm_lineage_once ON mm_memories (agent_id, source_mem_id)
  WHERE source_mem_id IS NOT NULL;
CREATE INDEX mm_session ON mm_memories (agent_id, session_id);
CREATE INDEX mm_newest ON mm_memories (agent_id, stage, sort_at, mem_id);
CREATE INDEX mm_expiry ON mm_memories (agent_id, stage, stored_at);

CREATE TABLE mm_words (
  agent_id TEXT NOT NULL,
  stage TEXT NOT NULL,
  word TEXT NOT NULL,
  sort_at INTEGER NOT NULL,
  mem_id TEXT NOT NULL,
  PRIMARY KEY (agent_id, stage, word, sort_at, mem_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE mm_state (
  agent_id TEXT PRIMARY KEY,
  last_rebuild_at INTEGER,
  rebuild_wanted INTEGER NOT NULL DEFAULT 0
) STRICT;
