"""Working memories of sessions and logs, without a model and without the daemon."""
