"""A program that imitates Slurm's commands and injects faults that a real Slurm cannot be made to show.

One program runs under eight command names, keeps its state in one folder, and can run jobs as real processes.
"""
