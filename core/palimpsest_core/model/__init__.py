"""Frozen records: what the engine hands out. `to_json` turns any of them into the contract's camelCase JSON."""
