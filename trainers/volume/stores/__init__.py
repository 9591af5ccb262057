"""Volumes on a shared file system, which are read in any part and written in whole blocks."""
