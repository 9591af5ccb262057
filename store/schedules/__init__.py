"""Schedules: what is submitted again and again, and each of its starts."""
