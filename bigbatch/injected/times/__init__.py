"""The time split of a program: tables of each rank and of all ranks, and points for the curves."""
