"""The command ``discreet``, and ``python -m discreet``."""

import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command; ctrl-C while it is still loading ends it quietly."""
    try:
        from discreet.cli.main import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
