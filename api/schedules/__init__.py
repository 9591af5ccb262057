"""Schedules and triggers."""
