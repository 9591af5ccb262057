"""Runs of this service, sent to other trackers."""
