"""What a rank notes about its progress, for the stall watch of its agent (agent/stalls)."""
