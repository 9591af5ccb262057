"""From choices to objects: the one place where the parts of a spec become parts of a training run."""
