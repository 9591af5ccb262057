"""The table of runs over HTTP: its query language, its pages, and the names for its completion."""
