"""`python -m wordbias` is `wordbias`."""

from wordbias.cli import main

main()
