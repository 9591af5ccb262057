"""The command of the table of runs."""
