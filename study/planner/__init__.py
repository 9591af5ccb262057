"""The planner: memory, ranks, servers, time and cost of a training job, before it runs."""
