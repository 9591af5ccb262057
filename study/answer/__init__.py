"""The answer of an experiment: its figure over its axes, and one sentence of result."""
