"""The spec of a search for near-duplicates among images."""
