"""What the scheduler does with artifacts: their removal, and the use of finished runs' results."""
