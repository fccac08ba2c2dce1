"""The contract file: how TOML and YAML are read with the line of every key, and written.

`source` is what both readers give; `toml` and `yaml` are the readers; `shape` holds what is read against the contract.
"""
