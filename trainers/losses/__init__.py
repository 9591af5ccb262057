"""Losses: a net's output and its target, mapped to one number."""
