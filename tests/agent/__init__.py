"""Tests of the agent of own programs."""
