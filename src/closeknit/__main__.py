"""`python -m closeknit` is `closeknit`."""

from .cli.main import main

main()
