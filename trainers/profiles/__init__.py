"""Measure what a net computes and stores per sample, for the planner."""
