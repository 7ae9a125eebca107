"""Text that every Python brings along: docstrings of its library, the first paragraph and the rest."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

_MODULES = """
argparse array ast asyncio bisect calendar cmath codecs collections concurrent.futures configparser
contextlib copy csv dataclasses datetime decimal difflib dis email.message enum fractions ftplib
functools glob gzip hashlib heapq html http.client http.server imaplib importlib inspect io
ipaddress itertools json locale logging lzma mailbox math mimetypes multiprocessing operator os
pathlib pickle platform plistlib poplib pprint queue random re sched secrets selectors shelve shlex
shutil signal smtplib socket socketserver sqlite3 ssl statistics string struct subprocess sysconfig
tarfile tempfile textwrap threading timeit tokenize traceback tracemalloc types typing unittest
urllib.parse urllib.request uuid warnings wave weakref xml.dom.minidom xml.etree.ElementTree zipfile
zoneinfo
"""


def pairs() -> list[tuple[str, str]]:
    """Of every sixth docstring that says enough, in a fixed order."""
    found: dict[str, str] = {}
    for name in _MODULES.split():
        try:
            module = importlib.import_module(name)
        except ImportError:  # of an optional library of this Python
            continue
        for thing in _members(module, lambda each, name=name: getattr(each, "__module__", None) == name):
            for each in (thing, *(_members(thing, callable) if inspect.isclass(thing) else ())):
                first, _, rest = (inspect.getdoc(each) or "").partition("\n\n")
                if len(first.split()) >= 4 and len(rest.split()) >= 10:
                    found.setdefault(rest, first)
    return [(first, rest) for rest, first in found.items()][::6]


def _members(thing: Any, wanted: Callable[[Any], bool]) -> list[Any]:
    return [each for _, each in sorted(vars(thing).items()) if wanted(each)]
