"""Copies of artifacts in an object store: the store, and the state of each copy in the database."""
