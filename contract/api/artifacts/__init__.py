"""The API's responses about artifacts and reuse."""
