"""The gate: what `make test` runs, with a time limit for each stage and a second run for a test that failed.

The part outside of pytest needs only the standard library, because its first stage installs everything else.
"""
