"""What can be asked of records: save, recall, read, review, forget; each in one transaction."""
