"""What the agent reads and writes in a run folder, in the formats of contract/folder."""
