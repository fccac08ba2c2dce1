"""Tools and approvals: the specification."""
