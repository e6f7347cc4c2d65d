"""``python -m fastrag.cli``: the ``fastrag`` command."""

import sys

from fastrag.cli import main

if __name__ == "__main__":
    sys.exit(main())
