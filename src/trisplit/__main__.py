"""`python -m trisplit` is the command `trisplit`."""

from trisplit.cli import main

if __name__ == "__main__":
    main()
