"""Images in tar files with an index, of which every sample is one read: the format, its reader and its writer."""
