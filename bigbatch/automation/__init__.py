"""The client's methods for notifications, schedules and triggers."""
