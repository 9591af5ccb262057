"""Tests of the endpoints of the clusters."""
