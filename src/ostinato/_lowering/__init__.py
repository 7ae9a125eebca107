"""What kernels a feature has for programs: by which operators of torch's own a file says the same, and back.

A feature is one line in the list of ``_registry`` and one module of two functions:
``expand`` writes its operators as patterns of torch's, ``restore`` finds the patterns
and puts the operators back.
"""

from ._patterns import (
    Call as Call,
    Slot as Slot,
    arguments as arguments,
    build as build,
    call as call,
    match as match,
)
from ._program import (
    add_constant as add_constant,
    copied as copied,
    drop_constant as drop_constant,
    erase as erase,
    every_node as every_node,
    placeholder_of as placeholder_of,
    substitute as substitute,
    weights_of as weights_of,
)
from ._registry import (
    expanded as expanded,
    keeping_operators as keeping_operators,
    keeps_operators as keeps_operators,
    restore as restore,
)
