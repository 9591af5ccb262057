"""The commands that import runs from other trackers."""
