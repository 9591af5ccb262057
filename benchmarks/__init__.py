"""Benchmarks, one question per module or package: `make bench NAME=...`; the reports are in results/."""
