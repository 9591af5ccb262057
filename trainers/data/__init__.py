"""Data sets: splits of images and sentence pairs, the order of their samples, and the loader of batches."""
