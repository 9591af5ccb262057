"""Tests of the system metrics of nodes."""
