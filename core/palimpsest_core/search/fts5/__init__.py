"""search/fts5"""
