"""How the ranks of a job start, print and end: on one machine, and the end of a Slurm job step."""
