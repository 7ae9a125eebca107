"""Which PyTorch does this machine need, and why does the one it has not work.

``diagnose()`` looks at this machine, or reads the record of another, and
compares it with a table of facts (``table.json``), each with its source.
``explain(text)`` says what an error message means.  Standard library only, on
Python 3.9 and later, with torch absent or broken; torch is never imported.
"""

from ._diagnose import diagnose as diagnose
from ._diagnosis import Diagnosis as Diagnosis, Install as Install
from ._explain import Explanation as Explanation, explain as explain
from ._machine import Machine as Machine
from ._rules import Finding as Finding
