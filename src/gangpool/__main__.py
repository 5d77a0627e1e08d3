"""`python -m gangpool`: the same as the `gangpool` command."""

from gangpool.cli.main import main

main()
