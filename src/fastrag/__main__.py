"""``python -m fastrag`` is the ``fastrag`` command."""

import sys

from fastrag.cli import main

if __name__ == "__main__":
    sys.exit(main())
