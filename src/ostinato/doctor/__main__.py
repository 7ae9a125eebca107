"""``python -m ostinato.doctor``: the doctor alone, where nothing else of Ostinato runs."""

import sys

from ._command import main

sys.exit(main())
