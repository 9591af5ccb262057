"""Tests of what people save: views."""
