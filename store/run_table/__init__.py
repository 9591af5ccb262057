"""The table of runs: any field of a run as a column, a filter and an order, over all runs of the database."""
