"""Workers on the chunks of a volume: how the time falls with their number."""
