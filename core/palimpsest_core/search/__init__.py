"""Full-text search: requests, cursors, snippets, the provider protocol and the built-in SQLite provider (`fts5`)."""
