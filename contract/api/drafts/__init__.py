"""What a page needs to write an experiment."""
