"""What a run reads and leaves, as its spec names it: inputs, outputs, and how long outputs remain."""
