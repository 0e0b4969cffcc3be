"""Open sessions of this process: append-only logs in memory, written behind to a durable store if there is one."""
