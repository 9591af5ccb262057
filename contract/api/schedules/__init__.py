"""Schedules and triggers over HTTP."""
