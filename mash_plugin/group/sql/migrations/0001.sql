-- Run by mash group init as the owner of the schema, which stands first in the search path; {owner},
-- {member} and {writer} are the roles of this group.
-- COLLATE "C" orders as the program does, whatever the database was created with. Keys of what is
-- published begin with the scope, so that an engine of many servers can spread the rows by it.
CREATE TABLE group_info (
  only_one INTEGER PRIMARY KEY DEFAULT 1 CHECK (only_one = 1),
  group_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  created_at BIGINT NOT NULL
);

CREATE TABLE members (
  role_name NAME PRIMARY KEY,
  member TEXT COLLATE "C" NOT NULL UNIQUE,
  is_read_only INTEGER NOT NULL CHECK (is_read_only IN (0, 1)),
  added_at BIGINT NOT NULL,
  removed_at BIGINT,                      -- what was published before stays under the name
  node_limit INTEGER NOT NULL DEFAULT 50,
  nodes INTEGER NOT NULL DEFAULT 0        -- counted by a trigger
);

CREATE TABLE nodes (
  node_id TEXT COLLATE "C" PRIMARY KEY CHECK (node_id ~ '^[A-Za-z0-9_-]{{1,64}}$'),
  -- A role of the group that is nobody's login cannot own anything.
  role_name NAME NOT NULL REFERENCES members (role_name),
  label TEXT NOT NULL DEFAULT '' CHECK (octet_length(label) <= 256),
  published_at BIGINT,
  -- From where the node publishes, as a hash, and what its last publication left: a node that was
  -- copied, or a side that was restored, is told by them.
  home TEXT COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(home) <= 64),
  mark TEXT COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(mark) <= 64),
  quota INTEGER NOT NULL DEFAULT 100000,
  records INTEGER NOT NULL DEFAULT 0      -- counted by a trigger
);
CREATE INDEX nodes_of_role ON nodes (role_name);

CREATE TABLE pub_records (
  scope_value TEXT COLLATE "C" NOT NULL CHECK (octet_length(scope_value) <= 1024),
  node_id TEXT COLLATE "C" NOT NULL REFERENCES nodes (node_id) ON DELETE CASCADE,
  record_id TEXT COLLATE "C" NOT NULL CHECK (record_id ~ '^[A-Za-z0-9_-]{{1,64}}$'),
  scope_kind TEXT COLLATE "C" NOT NULL CHECK (scope_kind IN ('repository', 'chat', 'personal')),
  kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('decision', 'preference', 'fact')),
  created_at BIGINT NOT NULL,
  head_revision INTEGER NOT NULL CHECK (head_revision >= 1),
  review TEXT COLLATE "C" NOT NULL CHECK (review IN ('candidate', 'established')),
  state TEXT COLLATE "C" NOT NULL CHECK (octet_length(state) <= 32),
  retired INTEGER NOT NULL CHECK (retired IN (0, 1)),
  decided_by TEXT COLLATE "C" CHECK (decided_by IN ('person', 'agent')),
  effective_at BIGINT,
  valid_until BIGINT,
  recorded_at BIGINT NOT NULL,
  evidence_stale INTEGER NOT NULL CHECK (evidence_stale IN (0, 1)),
  confirmations INTEGER NOT NULL CHECK (confirmations >= 0),
  strong_tokens TEXT COLLATE "C" NOT NULL CHECK (octet_length(strong_tokens) <= 262144),
  weak_tokens TEXT COLLATE "C" NOT NULL CHECK (octet_length(weak_tokens) <= 262144),
  digest TEXT COLLATE "C" NOT NULL CHECK (octet_length(digest) <= 128), -- of the whole copy
  CHECK ((scope_kind = 'personal') = (scope_value = '')),
  PRIMARY KEY (scope_value, node_id, record_id)
);
CREATE INDEX pub_records_newest ON pub_records (node_id, recorded_at DESC, record_id);
CREATE INDEX pub_records_scope ON pub_records (scope_value, node_id, recorded_at DESC, record_id);
CREATE INDEX pub_records_id ON pub_records (node_id, record_id);
-- Lists: each kind of head is one range, in the order of the nodes and then of the pages.
CREATE INDEX pub_records_facet
  ON pub_records (kind, state, review, node_id, recorded_at DESC, record_id, scope_value);
CREATE INDEX pub_records_scope_facet ON pub_records
  (scope_value, scope_kind, kind, state, review, node_id, recorded_at DESC, record_id);

CREATE TABLE pub_revisions (
  scope_value TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  record_id TEXT COLLATE "C" NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  statement TEXT NOT NULL CHECK (octet_length(statement) BETWEEN 1 AND 16384),
  recorded_by TEXT NOT NULL CHECK (octet_length(recorded_by) <= 1024),
  review TEXT COLLATE "C" NOT NULL CHECK (review IN ('candidate', 'established')),
  state TEXT COLLATE "C" NOT NULL CHECK (octet_length(state) <= 32),
  decided_by TEXT COLLATE "C" CHECK (decided_by IN ('person', 'agent')),
  effective_at BIGINT,
  valid_until BIGINT,
  reported_by TEXT CHECK (octet_length(reported_by) <= 4096),
  alternatives TEXT CHECK (octet_length(alternatives) <= 131072),
  consequences TEXT CHECK (octet_length(consequences) <= 131072),
  conditions TEXT CHECK (octet_length(conditions) <= 131072),
  recorded_at BIGINT NOT NULL,
  origin TEXT COLLATE "C" NOT NULL CHECK (origin IN ('tool', 'terminal')),
  PRIMARY KEY (scope_value, node_id, record_id, revision),
  FOREIGN KEY (scope_value, node_id, record_id)
    REFERENCES pub_records (scope_value, node_id, record_id) ON DELETE CASCADE
);

CREATE TABLE pub_evidence (
  scope_value TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  record_id TEXT COLLATE "C" NOT NULL,
  revision INTEGER NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 1), -- in the order of the citations
  added_by TEXT COLLATE "C" NOT NULL CHECK (added_by IN ('revision', 'confirmation')),
  chat_id TEXT COLLATE "C" NOT NULL CHECK (octet_length(chat_id) <= 256),
  message_id TEXT COLLATE "C" NOT NULL CHECK (octet_length(message_id) <= 256),
  quote TEXT NOT NULL CHECK (octet_length(quote) BETWEEN 1 AND 32768),
  purpose TEXT COLLATE "C" NOT NULL CHECK (octet_length(purpose) <= 32),
  role TEXT COLLATE "C" NOT NULL CHECK (octet_length(role) <= 32),
  author TEXT COLLATE "C" NOT NULL CHECK (octet_length(author) <= 32),
  status TEXT COLLATE "C" NOT NULL CHECK (octet_length(status) <= 32),
  recorded_at BIGINT NOT NULL,
  PRIMARY KEY (scope_value, node_id, record_id, revision, position),
  FOREIGN KEY (scope_value, node_id, record_id, revision)
    REFERENCES pub_revisions (scope_value, node_id, record_id, revision) ON DELETE CASCADE
);

CREATE INDEX pub_evidence_chat ON pub_evidence (chat_id, node_id, record_id);

CREATE TABLE pub_confirmations (
  scope_value TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  record_id TEXT COLLATE "C" NOT NULL,
  revision INTEGER NOT NULL,
  message_id TEXT COLLATE "C" NOT NULL CHECK (octet_length(message_id) <= 256),
  confirmed_at BIGINT NOT NULL,
  PRIMARY KEY (scope_value, node_id, record_id, revision, message_id),
  FOREIGN KEY (scope_value, node_id, record_id, revision)
    REFERENCES pub_revisions (scope_value, node_id, record_id, revision) ON DELETE CASCADE
);

CREATE TABLE pub_links (                  -- kept with the copy of the record that they come from
  scope_value TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  from_record TEXT COLLATE "C" NOT NULL,
  to_record TEXT COLLATE "C" NOT NULL CHECK (octet_length(to_record) BETWEEN 1 AND 64),
  relation TEXT COLLATE "C" NOT NULL CHECK (relation IN ('supports', 'contradicts', 'supersedes')),
  from_revision INTEGER NOT NULL,
  to_revision INTEGER NOT NULL,
  recorded_at BIGINT NOT NULL,
  PRIMARY KEY (scope_value, node_id, from_record, to_record, relation),
  FOREIGN KEY (scope_value, node_id, from_record)
    REFERENCES pub_records (scope_value, node_id, record_id) ON DELETE CASCADE
);
CREATE INDEX pub_links_in ON pub_links (node_id, to_record);

-- By current_user alone: a login can set every variable of its session, but not who it is.
-- FORCE: the owner of the tables is bound, too, so that nothing runs past them by accident.
ALTER TABLE group_schema ENABLE ROW LEVEL SECURITY;
ALTER TABLE group_schema FORCE ROW LEVEL SECURITY;
ALTER TABLE group_info ENABLE ROW LEVEL SECURITY;
ALTER TABLE group_info FORCE ROW LEVEL SECURITY;
ALTER TABLE members ENABLE ROW LEVEL SECURITY;
ALTER TABLE members FORCE ROW LEVEL SECURITY;
ALTER TABLE nodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE nodes FORCE ROW LEVEL SECURITY;
ALTER TABLE pub_records ENABLE ROW LEVEL SECURITY;
ALTER TABLE pub_records FORCE ROW LEVEL SECURITY;
ALTER TABLE pub_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE pub_revisions FORCE ROW LEVEL SECURITY;
ALTER TABLE pub_evidence ENABLE ROW LEVEL SECURITY;
ALTER TABLE pub_evidence FORCE ROW LEVEL SECURITY;
ALTER TABLE pub_confirmations ENABLE ROW LEVEL SECURITY;
ALTER TABLE pub_confirmations FORCE ROW LEVEL SECURITY;
ALTER TABLE pub_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE pub_links FORCE ROW LEVEL SECURITY;

CREATE POLICY by_owner ON group_schema TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON group_info TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON members TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON nodes TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON pub_records TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON pub_revisions TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON pub_evidence TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON pub_confirmations TO {owner} USING (true) WITH CHECK (true);
CREATE POLICY by_owner ON pub_links TO {owner} USING (true) WITH CHECK (true);

CREATE POLICY seen ON group_schema FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON group_info FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON members FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON nodes FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON pub_records FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON pub_revisions FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON pub_evidence FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON pub_confirmations FOR SELECT TO {member} USING (true);
CREATE POLICY seen ON pub_links FOR SELECT TO {member} USING (true);

CREATE POLICY own ON nodes TO {writer}
  USING (role_name = current_user) WITH CHECK (role_name = current_user);
CREATE POLICY own ON pub_records TO {writer}
  USING (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user))
  WITH CHECK (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user));
CREATE POLICY own ON pub_revisions TO {writer}
  USING (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user))
  WITH CHECK (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user));
CREATE POLICY own ON pub_evidence TO {writer}
  USING (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user))
  WITH CHECK (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user));
CREATE POLICY own ON pub_confirmations TO {writer}
  USING (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user))
  WITH CHECK (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user));
CREATE POLICY own ON pub_links TO {writer}
  USING (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user))
  WITH CHECK (node_id IN (SELECT n.node_id FROM nodes AS n WHERE n.role_name = current_user));

GRANT SELECT ON group_schema, group_info, members, nodes, pub_records, pub_revisions, pub_evidence,
  pub_confirmations, pub_links TO {member};
GRANT INSERT (node_id, role_name, label, published_at, home, mark),
  UPDATE (label, published_at, home, mark), DELETE ON nodes TO {writer};
-- No UPDATE: a published copy is always replaced whole.
GRANT INSERT, DELETE ON pub_records, pub_revisions, pub_evidence, pub_confirmations, pub_links
  TO {writer};

-- How much one login may store. Counters, not counts: an update of the same row makes writers that
-- run side by side wait for each other, at every level of isolation.
CREATE FUNCTION count_records() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
  crowded RECORD;
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE nodes AS n SET records = n.records - c.many
    FROM (SELECT node_id, count(*) AS many FROM changed GROUP BY node_id) AS c
    WHERE n.node_id = c.node_id;
  ELSE
    UPDATE nodes AS n SET records = n.records + c.many
    FROM (SELECT node_id, count(*) AS many FROM changed GROUP BY node_id) AS c
    WHERE n.node_id = c.node_id;
    SELECT n.quota INTO crowded FROM nodes AS n
    WHERE n.records > n.quota AND n.node_id IN (SELECT node_id FROM changed);
    IF FOUND THEN
      RAISE EXCEPTION 'this node may publish % records at most', crowded.quota
        USING ERRCODE = 'MA001';
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER records_added AFTER INSERT ON pub_records REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_records();
CREATE TRIGGER records_removed AFTER DELETE ON pub_records REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_records();

CREATE FUNCTION count_nodes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
  crowded RECORD;
BEGIN
  IF TG_OP = 'DELETE' THEN
    UPDATE members AS m SET nodes = m.nodes - c.many
    FROM (SELECT role_name, count(*) AS many FROM changed GROUP BY role_name) AS c
    WHERE m.role_name = c.role_name;
  ELSE
    UPDATE members AS m SET nodes = m.nodes + c.many
    FROM (SELECT role_name, count(*) AS many FROM changed GROUP BY role_name) AS c
    WHERE m.role_name = c.role_name;
    SELECT m.node_limit INTO crowded FROM members AS m
    WHERE m.nodes > m.node_limit AND m.role_name IN (SELECT role_name FROM changed);
    IF FOUND THEN
      RAISE EXCEPTION 'this member may have % nodes at most', crowded.node_limit
        USING ERRCODE = 'MA002';
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER nodes_added AFTER INSERT ON nodes REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_nodes();
CREATE TRIGGER nodes_removed AFTER DELETE ON nodes REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_nodes();

-- What belongs to one record is bounded, too: rows of a table within one copy.
CREATE FUNCTION bound_copies() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, {schema}, pg_temp AS $$
DECLARE
  is_crowded BOOLEAN;
  id TEXT := CASE TG_TABLE_NAME WHEN 'pub_links' THEN 'from_record' ELSE 'record_id' END;
BEGIN
  EXECUTE format(
    'SELECT EXISTS (SELECT 1 FROM (SELECT DISTINCT scope_value, node_id, %2$I AS id FROM changed)'
    ' AS c WHERE (SELECT count(*) FROM %1$I AS t WHERE t.scope_value = c.scope_value'
    ' AND t.node_id = c.node_id AND t.%2$I = c.id) > 2000)', TG_TABLE_NAME, id) INTO is_crowded;
  IF is_crowded THEN
    RAISE EXCEPTION 'one record may have 2000 rows of % at most', TG_TABLE_NAME
      USING ERRCODE = 'MA003';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER copies_bounded AFTER INSERT ON pub_revisions REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION bound_copies();
CREATE TRIGGER copies_bounded AFTER INSERT ON pub_evidence REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION bound_copies();
CREATE TRIGGER copies_bounded AFTER INSERT ON pub_confirmations REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION bound_copies();
CREATE TRIGGER copies_bounded AFTER INSERT ON pub_links REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION bound_copies();
REVOKE ALL ON FUNCTION count_records(), count_nodes(), bound_copies() FROM PUBLIC;
