"""The specification of the pure law."""
