"""Responses about workflows."""
