"""Data sets from folders of image files."""
