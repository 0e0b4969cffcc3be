"""A lifelike corpus to look around in, written by the project's own writer."""

from palimpsest_core.writer.demo.corpus import DemoCorpus, grow, write_demo

__all__ = ["DemoCorpus", "grow", "write_demo"]
