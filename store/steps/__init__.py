"""Steps of workflows: their states, runs and figures."""
