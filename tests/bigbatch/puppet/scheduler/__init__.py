"""Stands in for the scheduler where a fault must be forced."""
