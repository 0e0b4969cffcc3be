"""Typed starters of background work. No widgets in here."""
