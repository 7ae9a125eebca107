"""``ostinato.linalg``: eigenvalues and eigenvectors of many Hermitian matrices at once."""

from ._eigh import (
    EighEx as EighEx,
    eigh as eigh,
    eigh_ex as eigh_ex,
    eigvalsh as eigvalsh,
)
from ._failure import EighError as EighError
