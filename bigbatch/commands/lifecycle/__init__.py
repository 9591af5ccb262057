"""Commands that change experiments and runs after their submission."""
