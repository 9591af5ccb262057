"""A search for near-duplicates as the work of a run's rank."""
