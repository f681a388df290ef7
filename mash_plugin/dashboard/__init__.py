"""`mash dash`: pages for a browser on this machine, read-only, over the daemon."""
