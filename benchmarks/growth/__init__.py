"""The growth benchmark: scheduler ticks and API queries beside 10^5 ended runs with 10^8 points."""
