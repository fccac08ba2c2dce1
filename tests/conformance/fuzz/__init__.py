"""The fuzz kit."""
