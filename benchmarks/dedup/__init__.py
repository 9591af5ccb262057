"""The search for near-duplicates: how long it takes, what it finds, and what it does to the accuracy."""
