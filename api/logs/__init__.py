"""The log of a run: parts of it, and a search for the lines of a rank, a level or a text."""
