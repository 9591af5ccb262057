"""Tests of what a job does in the folder of its run."""
