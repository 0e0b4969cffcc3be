"""The fixtures of tests that drive the app."""

from appdriving import demo, launch, still_clock

__all__ = ["demo", "launch", "still_clock"]
