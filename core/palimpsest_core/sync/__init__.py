"""Keeping the index equal to the logs: mirrors, incremental reconciling, the watcher and the two worker processes."""
