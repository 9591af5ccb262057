"""A real Slurm cluster of several hosts on one Linux machine, for tests, benchmarks and experiments."""
