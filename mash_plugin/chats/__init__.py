"""The index of the transcripts: who said what, found again in any language."""
