"""The strict reader: a file is checked as a whole before torch sees any of it. Imports no torch."""

from ._archive import METADATA as METADATA, VettedArchive as VettedArchive, VettedModel as VettedModel
from ._dtypes import DTYPES as DTYPES, ORDINARY as ORDINARY, STAND_INS as STAND_INS
from ._operators import (
    feature_of as feature_of,
    schema_name as schema_name,
    unportable as unportable,
)
from ._payload import extent as extent
from ._program import trim as trim
from ._types import Bad as Bad
