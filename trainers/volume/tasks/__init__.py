"""Tasks that workers on any hosts lease from a folder of a shared file system."""
