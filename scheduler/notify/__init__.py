"""Notifications: messages about what happened, and their delivery."""
