"""``python -m ostinato.cli``: the command line of this very interpreter."""

import sys

from ._main import main

sys.exit(main())
