"""The rules of records: evidence, authority, states, ranking, cues. Pure."""
