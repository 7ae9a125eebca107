"""``python -m ostinato.testing --device NAME``; pytest's own options may follow."""

from __future__ import annotations

import sys

import pytest

sys.exit(pytest.main(["-p", "ostinato.testing._options", "--pyargs", "ostinato.testing", *sys.argv[1:]]))
