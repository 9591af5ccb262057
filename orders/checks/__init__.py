"""What must hold before an experiment is accepted, beside what its spec alone shows."""
