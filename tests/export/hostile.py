"""Files that were made to do harm, from the entries of a good one (the fixture ``good``)."""

import json
import os
import warnings
import zipfile

import pytest

from ostinato._errors import ArchiveError
from ostinato.export import load

MODEL = "models/model.json"
WEIGHTS = "data/weights/model_weights_config.json"
EVIL = "__import__('os').system('touch /tmp/ostinato-was-here')"


def write(path, entries, root="archive", compression=zipfile.ZIP_STORED):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", compression) as file:
        warnings.simplefilter("ignore")
        for name, content in entries if isinstance(entries, list) else entries.items():
            file.writestr(f"{root}/{name}" if root else name, content)
    return path


def changed(good, entry, change):
    """The entries with one JSON document changed in place."""
    document = json.loads(good[entry])
    change(document)
    return {**good, entry: json.dumps(document).encode()}


def refused(path, match=None):
    """The error of loading ``path``, which must be a refusal with a hint; nothing may have run."""
    with pytest.raises(ArchiveError, match=match) as error:
        load(path)
    assert error.value.hint
    assert_nothing_ran()
    return error.value


def assert_nothing_ran():
    assert not os.path.exists("/tmp/ostinato-was-here")


def graph(document):
    return document["graph_module"]["graph"]
