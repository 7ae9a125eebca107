"""``lint``: the uses of TorchScript in a code base, each with what replaces it. Brings in no torch."""

from ._finding import (
    Edit as Edit,
    Finding as Finding,
    Fix as Fix,
    Note as Note,
)
from ._lint import (
    Run as Run,
    lint as lint,
    run as run,
)
from ._match import BY_ID as BY_ID
from ._rules import RULES as RULES, Rule as Rule
from ._settings import settings as settings
from ._source import Source as Source
