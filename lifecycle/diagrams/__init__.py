"""Pictures of the machine, drawn from the table: each format is a module, each drawing a function that returns a text."""
