"""Real models with a measure of how good they are, for ``bench_mx_quality``."""

from ._digits import tasks as digits
from ._speech import tasks as speech
from ._task import Task as Task
from ._text import tasks as text

TASKS = {"digits": digits, "speech": speech, "text": text}
