"""Shapes of everything that is written to the log. A leaf package: it imports nothing of the project."""
