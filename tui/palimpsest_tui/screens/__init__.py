"""Screens: composition and wiring only."""
