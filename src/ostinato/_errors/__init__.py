"""Every message and hint of Ostinato, in one place.

A message says what was wrong and where; its hint says what to do instead.
Code raises ``fail("feature.what", name=value, ...)``; the tables beside this
file hold the wording, one file a feature.  Valid on Python 3.9, without torch.
"""

from ._base import (
    ArchiveError as ArchiveError,
    CaptureError as CaptureError,
    DeployError as DeployError,
    ExportError as ExportError,
    MissingDependencyError as MissingDependencyError,
    NativeError as NativeError,
    OstinatoError as OstinatoError,
    ReplayError as ReplayError,
    UsageError as UsageError,
)
from ._tables import fail as fail
