"""The commands that write points, runs and artifacts to files."""
