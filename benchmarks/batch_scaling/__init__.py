"""The accuracy against the batch, at equal epochs and with equal effort of tuning for every method."""
