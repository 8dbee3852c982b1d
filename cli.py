"""`python cli.py misp glove.txt` from a checkout, without installing anything new."""

from wordbias.__main__ import main

if __name__ == "__main__":
    main()
