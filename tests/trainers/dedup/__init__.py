"""Tests of the search for near-duplicate images."""
