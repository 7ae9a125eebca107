"""The command line: ``ostinato VERB …``. Importing it brings neither torch nor numpy."""

from ._main import main as main
