"""``python -m discreet``."""

from discreet.cli.main import main

main()
