"""Plans of training jobs before they run."""
