"""Steps of workflows: their table, states, runs and figures."""
