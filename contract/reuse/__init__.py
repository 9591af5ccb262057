"""The key by which a run finds a finished run that computed the same."""
