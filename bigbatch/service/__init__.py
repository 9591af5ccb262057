"""Start, supervise and stop the service's processes on this machine."""
