"""The worker processes that load a rank's batches."""
