"""Reach a Postgres server: what every use of one has in common."""
