"""Runs the programs of a folder with torch alone: ``python alone.py FOLDER``, in whatever environment.

Beside ``NAME.pt2`` lies ``NAME.pt``, the arguments of calls made one after the other and what each must
give. Prints a line of JSON: the version of torch, how many programs ran, and what was wrong.
"""

import json
import pathlib
import sys
import warnings


class _Absent:
    """Where ostinato is installed: as if it were not."""

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "ostinato":
            raise ModuleNotFoundError("No module named 'ostinato'", name="ostinato")
        return None


def wrong(path):
    """What is wrong with the program at ``path``; empty where nothing is."""
    import torch

    calls = torch.load(path.with_suffix(".pt"), weights_only=True)
    try:
        run = torch.export.load(path).module()
        for i, (args, expected) in enumerate(calls):
            with torch.no_grad():
                got = torch.utils._pytree.tree_leaves(run(*args))
            if len(got) != len(expected):
                return f"call {i}: {len(got)} results"
            for mine, its in zip(got, expected, strict=True):
                if not _equal(mine, its):
                    return f"call {i}: {mine} is not {its}"[:500]
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:500]
    return ""


def _equal(mine, its):
    import torch

    if not isinstance(its, torch.Tensor):
        return type(mine) is type(its) and mine == its
    if mine.dtype != its.dtype or mine.shape != its.shape:
        return False
    if torch.equal(mine.contiguous().reshape(-1).view(torch.uint8), its.reshape(-1).view(torch.uint8)):
        return True
    # Two versions of torch may sum in another order; their results are floats.
    return mine.dtype.is_floating_point and torch.allclose(mine.float(), its.float(), 1e-4, 1e-5, True)


def main(folder):
    warnings.simplefilter("ignore")
    sys.meta_path.insert(0, _Absent())
    import torch

    found = {path.stem: wrong(path) for path in sorted(pathlib.Path(folder).glob("*.pt2"))}
    bad = {name: why for name, why in found.items() if why}
    print(json.dumps({"torch": torch.__version__, "programs": len(found), "wrong": bad}))
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
