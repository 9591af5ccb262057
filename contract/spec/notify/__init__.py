"""Rules of notifications as a spec has them."""
