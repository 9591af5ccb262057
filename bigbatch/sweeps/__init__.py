"""Searches: the client's methods, and files of points."""
