"""Calculations over the steps of a workflow."""
