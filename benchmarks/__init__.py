"""One question per file, each against what a user would pick instead; reports lie in results/."""
