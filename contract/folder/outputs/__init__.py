"""The outputs of a run: their hashes, and the record that the job writes."""
