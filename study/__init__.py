"""Fair comparisons of runs and convergence tests."""
