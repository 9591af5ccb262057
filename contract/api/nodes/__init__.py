"""What the API returns about the nodes of clusters."""
