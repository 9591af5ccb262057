"""Endpoints of the clusters: their reports, and the nodes on which attempts failed."""
