"""Nets, each in the form of its paper."""
