"""`python -m lifecycle.cli` is `lifecycle`."""

from lifecycle.cli import main

main()
