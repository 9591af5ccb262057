"""What a training script calls inside a run: the standard library alone, from Python 3.9 on."""
