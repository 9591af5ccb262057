"""Notifications over HTTP: targets, rules and deliveries."""
