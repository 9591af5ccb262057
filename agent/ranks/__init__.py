"""The processes of the ranks: where they run, how they start, get signals and end."""
