"""``python -m polyak`` is the command ``polyak``."""

from polyak.cli import main

if __name__ == "__main__":
    main()
