"""Schedules: which starts are due, and how they are carried out."""
