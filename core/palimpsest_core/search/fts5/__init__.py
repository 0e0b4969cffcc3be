"""The built-in search provider: SQLite FTS5 through apsw. All SQL of the index lives in this package."""
