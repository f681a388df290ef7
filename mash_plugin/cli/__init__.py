"""The command `mash`: each group of commands is imported when it is called."""
