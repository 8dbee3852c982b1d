"""`python cli.py misp glove.txt` from a checkout, without installing anything new."""

from wordbias.cli import main

if __name__ == "__main__":
    main()
