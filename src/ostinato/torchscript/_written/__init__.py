"""An archive as one Python module that needs torch alone, and a file with its weights."""

from ._module import written as written
from ._weights import write_weights as write_weights

__all__ = ["write_weights", "written"]
