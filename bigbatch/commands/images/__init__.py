"""Commands that work on images on this machine, with the decoder of the jobs."""
