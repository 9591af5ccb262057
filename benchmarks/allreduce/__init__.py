"""The all-reduce benchmark: every all-reduce algorithm against gloo and OpenMPI."""
