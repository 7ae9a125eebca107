"""Files that describe themselves wrongly."""

import copy
import json

import pytest

from ostinato._errors import ArchiveError
from ostinato.export import load, load_methods, read_metadata

from .hostile import changed, write


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(schema=99),
        lambda document: document.update(methods={"forward": {}}),
        lambda document: document.update(more=1),
        lambda document: document["methods"]["forward"]["variants"][0].update(model="../x"),
        lambda document: document["methods"]["forward"].update(on_variant_change="explode"),
        lambda document: document["methods"]["forward"]["variants"][0]["inputs"].update(args={"value": 1}),
    ],
)
def test_wrong_metadata(good, tmp_path, change):
    path = write(tmp_path / "a.pt2", changed(good, "extra/ostinato.json", change))
    for read in (read_metadata, load_methods, load):
        with pytest.raises(ArchiveError):
            read(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda variant: variant.update(model="other"),
        lambda variant: variant.update(state=["linear.weight"]),
        lambda variant: variant["inputs"]["args"]["tuple"].pop(),
    ],
)
def test_metadata_that_does_not_go_with_the_programs(good, tmp_path, change):
    document = copy.deepcopy(json.loads(good["extra/ostinato.json"]))
    change(document["methods"]["forward"]["variants"][0])
    path = write(tmp_path / "a.pt2", {**good, "extra/ostinato.json": json.dumps(document)})
    with pytest.raises(ArchiveError):
        load_methods(path)
