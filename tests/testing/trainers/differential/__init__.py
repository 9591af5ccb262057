"""A differential test: random small nets and options, trained by the engine and by plain PyTorch in one process."""
