"""The steps of workflows."""
