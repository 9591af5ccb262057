"""Results of an experiment over all its runs."""
