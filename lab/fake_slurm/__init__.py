"""A stand-in for Slurm's commands, with faults that can be switched on: what no real Slurm can be made to do.

One program under seven names, a folder for all that it knows, and real processes for jobs where something carries them.
"""
