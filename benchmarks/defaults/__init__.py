"""Measurements that decide defaults of the spec."""
