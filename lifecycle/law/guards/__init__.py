"""The questions that the table asks, by name. Which act is held to which, and in which order, stands in `table`."""
