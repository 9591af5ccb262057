"""Inference over volumes that are larger than a host's memory, chunk by chunk, after Chunkflow (Wu et al., 2021)."""
