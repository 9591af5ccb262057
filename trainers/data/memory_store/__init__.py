"""Samples in the memory of the ranks (DIMD; Kumar et al., 2017)."""
