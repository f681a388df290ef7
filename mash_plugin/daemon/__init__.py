"""The one process that owns the store: hooks and tools reach it over a Unix socket."""
