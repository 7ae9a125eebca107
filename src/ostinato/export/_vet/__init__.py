"""The strict reader: a file is checked as a whole before torch sees any of it. Imports no torch."""

from ._archive import METADATA as METADATA
from ._archive import VettedArchive as VettedArchive
from ._archive import VettedModel as VettedModel
from ._operators import schema_name as schema_name
from ._operators import unportable as unportable
from ._payload import extent as extent
from ._program import DTYPES as DTYPES
from ._program import trim as trim
from ._types import Bad as Bad
