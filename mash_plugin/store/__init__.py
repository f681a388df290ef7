"""The two SQLite files: queries by name, migrations, backups, faults."""
