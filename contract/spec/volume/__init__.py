"""The spec of inference over a volume, chunk by chunk."""
