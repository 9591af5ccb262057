"""The acceptance of experiments, further points and further epochs, for the API and for periodic tasks."""
