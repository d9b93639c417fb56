"""One adapter of the log port a file; they import the port and never each other."""
