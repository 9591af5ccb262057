"""Notifications: targets, rules, what happened, and messages to deliver."""
