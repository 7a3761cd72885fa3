"""The `sparring` command, as the installed script and `python -m sparring` run it."""

import sys


def main() -> None:
    """Runs the command line. Ctrl-C ends it quietly even while it is still being imported."""
    try:
        from sparring.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
