"""Tests of the endpoint of a run's log."""
