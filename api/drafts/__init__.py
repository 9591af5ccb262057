"""What a page needs to write an experiment: the recipes, the schema of a spec, and the batch scripts of a draft."""
