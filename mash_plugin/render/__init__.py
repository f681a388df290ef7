"""How records and notes are written into an agent's context. Pure."""
