"""GET /metrics: the service as Prometheus reads it."""
