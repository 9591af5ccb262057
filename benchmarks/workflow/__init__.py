"""What workflows cost: the tick that plans them, their graph, and what the service adds to their critical path."""
