"""What searches find, and what they use, beside the full grid."""
