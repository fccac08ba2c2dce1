"""Pictures of the machine, drawn from the table: each format is a module, each drawing a function that returns a text.

`arrows` holds what all formats say, `draw` picks a drawing by kind and format, `render` makes SVG and PNG of a DOT text.
"""
