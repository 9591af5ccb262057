"""Build the objects that a spec chooses. Only this package turns parts of a spec into parts of a training run."""
