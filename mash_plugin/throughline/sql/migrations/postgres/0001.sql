-- Run by meaning-memory setup-postgres as mm_owner, with the schema first in the search path.
-- COLLATE "C" orders as the program does, whatever the database was created with.
CREATE TABLE mm_agents (
  role_name NAME PRIMARY KEY,
  agent_id TEXT COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE mm_memories (
  mem_id TEXT COLLATE "C" NOT NULL CHECK (mem_id ~ '^[0-9a-f]{16}$'),
  agent_id TEXT COLLATE "C" NOT NULL,
  stage TEXT COLLATE "C" NOT NULL CHECK (stage IN ('working', 'long_term')),
  category TEXT NOT NULL,
  significance DOUBLE PRECISION NOT NULL CHECK (significance BETWEEN 0 AND 1),
  text TEXT NOT NULL,
  event_at BIGINT,
  stored_at BIGINT NOT NULL,
  sort_at BIGINT NOT NULL, -- the time of the event, else of the capture
  session_id TEXT COLLATE "C",
  channel TEXT COLLATE "C",
  source_kind TEXT CHECK (source_kind IN ('chat', 'cron', 'heartbeat')),
  artifact_key TEXT COLLATE "C",
  status TEXT,
  source_mem_id TEXT COLLATE "C", -- of a promoted copy; no foreign key, for originals expire
  words TEXT NOT NULL, -- what a search compares, a space between
  -- Within an agent: a key over all would tell one agent by a conflict what another has.
  PRIMARY KEY (agent_id, mem_id)
);
CREATE UNIQUE INDEX mm_capture_index ON mm_memories (agent_id, session_id, artifact_key)
  WHERE stage = 'working' AND artifact_key IS NOT NULL;
CREATE UNIQUE INDEX mm_lineage_once ON mm_memories (agent_id, source_mem_id)
  WHERE source_mem_id IS NOT NULL;
CREATE INDEX mm_session ON mm_memories (agent_id, session_id);
CREATE INDEX mm_newest ON mm_memories (agent_id, stage, sort_at, mem_id);
CREATE INDEX mm_expiry ON mm_memories (agent_id, stage, stored_at);

CREATE TABLE mm_words (
  agent_id TEXT COLLATE "C" NOT NULL,
  stage TEXT COLLATE "C" NOT NULL,
  word TEXT COLLATE "C" NOT NULL,
  sort_at BIGINT NOT NULL,
  mem_id TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (agent_id, stage, word, sort_at, mem_id)
);

CREATE TABLE mm_state (
  agent_id TEXT COLLATE "C" PRIMARY KEY,
  last_rebuild_at BIGINT,
  rebuild_wanted INTEGER NOT NULL DEFAULT 0
);

-- By current_user alone: a login can set every variable of its session, but not who it is.
ALTER TABLE mm_agents ENABLE ROW LEVEL SECURITY;
CREATE POLICY mm_own_name ON mm_agents FOR SELECT TO mm_agent USING (role_name = current_user);
CREATE POLICY mm_setup ON mm_agents TO mm_owner USING (true) WITH CHECK (true);
ALTER TABLE mm_memories ENABLE ROW LEVEL SECURITY;
CREATE POLICY mm_own ON mm_memories
  USING (agent_id = (SELECT a.agent_id FROM mm_agents AS a WHERE a.role_name = current_user))
  WITH CHECK (agent_id = (SELECT a.agent_id FROM mm_agents AS a WHERE a.role_name = current_user));
ALTER TABLE mm_words ENABLE ROW LEVEL SECURITY;
CREATE POLICY mm_own ON mm_words
  USING (agent_id = (SELECT a.agent_id FROM mm_agents AS a WHERE a.role_name = current_user))
  WITH CHECK (agent_id = (SELECT a.agent_id FROM mm_agents AS a WHERE a.role_name = current_user));
ALTER TABLE mm_state ENABLE ROW LEVEL SECURITY;
CREATE POLICY mm_own ON mm_state
  USING (agent_id = (SELECT a.agent_id FROM mm_agents AS a WHERE a.role_name = current_user))
  WITH CHECK (agent_id = (SELECT a.agent_id FROM mm_agents AS a WHERE a.role_name = current_user));
ALTER TABLE mm_agents FORCE ROW LEVEL SECURITY;
ALTER TABLE mm_memories FORCE ROW LEVEL SECURITY;
ALTER TABLE mm_words FORCE ROW LEVEL SECURITY;
ALTER TABLE mm_state FORCE ROW LEVEL SECURITY;

GRANT SELECT ON mm_agents, mm_schema TO mm_agent;
GRANT SELECT, INSERT, DELETE ON mm_memories, mm_words TO mm_agent;
GRANT SELECT, INSERT, UPDATE ON mm_state TO mm_agent;
