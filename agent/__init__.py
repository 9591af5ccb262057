"""The agent of a run's own program: it claims an attempt, starts and observes the ranks, and reports how they end.

Standard library and Python 3.9 only, and of the project only `runfiles`, which is beside it: the agent runs on compute
nodes where nothing is installed.
"""
