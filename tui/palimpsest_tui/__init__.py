"""Palimpsest in the terminal: the app, and the command line beside it."""
