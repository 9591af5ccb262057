"""What a run over a volume leaves in its folder."""
