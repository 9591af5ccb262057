"""The request and the answer of the planner."""
