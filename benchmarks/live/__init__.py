"""The benchmark of live pages: from the trainer's write to the page."""
