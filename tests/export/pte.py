"""Programs for the ExecuTorch runtime in tests: run where it is installed, and as if it were not."""

import sys


def runtime(path):
    """A call of the method forward of a file, in the ExecuTorch runtime."""
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(path).load_method("forward")
    return lambda *args: method.execute(args)[0]


def hide(monkeypatch):
    """Let no module of ExecuTorch be found, also where another test has imported it."""
    for name in ("executorch", *(each for each in sys.modules if each.startswith("executorch."))):
        monkeypatch.setitem(sys.modules, name, None)
