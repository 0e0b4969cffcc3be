"""The one place where the version is written: for the build, and for a tree that is not installed."""

VERSION = "0.1.0"
