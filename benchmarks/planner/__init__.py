"""The planner against published scaling rows, and against measured steps on this machine."""
