"""What a worker does: the plan of a spec, the operators on a chunk, the stages, and the report of progress."""
