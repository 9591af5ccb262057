"""Commands for notifications, schedules and triggers."""
