"""The scale benchmark: scheduler ticks and API lists with 10,000 queued and 500 live runs."""
