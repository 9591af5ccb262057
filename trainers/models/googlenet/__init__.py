"""GoogLeNet, with and without batch normalization."""
