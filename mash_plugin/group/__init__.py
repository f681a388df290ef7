"""Groups: records that their owners publish on the team's own Postgres, for all members to read."""
