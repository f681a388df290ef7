"""Find out what is wrong with a machine's memory, and repair what is safe to repair."""
