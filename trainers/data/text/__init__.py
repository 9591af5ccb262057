"""Data sets of sentence pairs, and their vocabulary."""
