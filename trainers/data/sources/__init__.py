"""Built-in image data sets: digits, glyphs and synthetic images."""
