"""Find near-duplicate images by perceptual hashes, and leave all but one of each group out of training."""
