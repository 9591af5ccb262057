"""Notifications: targets, rules and deliveries."""
