"""The native library: found, loaded and described here, and nowhere else."""

from ._calls import (
    optimizer_free as optimizer_free,
    plan_free as plan_free,
    plan_replay as plan_replay,
    plan_run as plan_run,
)
from ._load import (
    info as info,
    ops as ops,
)
