"""Commands that predict what a job needs before it runs."""
