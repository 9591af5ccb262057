"""Stalls: find ranks that make no progress, collect their stacks, and record which rank all other ranks wait for."""
