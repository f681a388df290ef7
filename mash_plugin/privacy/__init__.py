"""What is never stored or shown: private spans and credentials. Pure."""
