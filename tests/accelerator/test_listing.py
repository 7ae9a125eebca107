"""What a graph shows of itself: the listing, the dumps, the costs and the times of its steps."""

from __future__ import annotations

import html.parser
import json

import pytest
import torch

from ostinato.accelerator import Graph

nn = torch.nn


@pytest.fixture
def net():
    """``(graph, its output)`` of a linear layer and a ReLU, which fast numerics makes one step."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU()).requires_grad_(False)
    x = torch.randn(4, 8)
    graph = Graph(numerics="fast")
    graph.enable_debug_mode()
    with graph:
        y = model(x)
    return graph, y


def test_a_fused_group_shows_its_kernel_and_what_it_stands_for(net):
    graph, _ = net
    (node,) = graph.nodes
    assert node.op == "ostinato::linear"
    assert node.step == "fused"
    assert node.sources == ("aten.addmm.default", "aten.relu.default")
    assert [name[0] for name in node.inputs] == ["x", "w", "w"]
    assert [name.partition(":")[2] for name in node.inputs] == ["f32[4,8]", "f32[8,16]", "f32[16]"]
    head, line, group = str(graph).splitlines()
    assert head.startswith("Graph(ready, fast): 2 nodes as 1 step (1 fused)")
    assert "ostinato::linear(" in line
    assert group.strip() == "aten.addmm.default + aten.relu.default"


def test_costs_are_those_of_the_product(net):
    (node,) = net[0].nodes
    assert node.flops == 2 * 4 * 8 * 16
    assert node.nbytes == 4 * (4 * 8 + 8 * 16 + 16 + 4 * 16)


def test_names_tell_what_a_storage_is():
    x = torch.zeros(6)
    graph = Graph()
    with graph:
        x.add_(1)
        kept = x[2:].exp().sin()
    assert kept.shape == (4,)
    changed, exp, sin = graph.nodes
    assert changed.written == ("x0",)
    assert exp.inputs == ("x0+2:f32[4]",)
    assert exp.outputs[0].startswith("t")
    assert sin.outputs[0].startswith("y")


class _Page(html.parser.HTMLParser):
    """Collects what a page refers to, and its texts."""

    def __init__(self):
        super().__init__()
        self.references, self.texts, self.values = [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.references += [attributes[k] for k in ("src", "href") if k in attributes]
        self.values += [attributes["data-s"]] if "data-s" in attributes else []

    def handle_data(self, data):
        self.texts.append(data)


def test_the_page_holds_the_graph_and_loads_nothing(net, tmp_path):
    graph, _ = net
    graph.debug_dump(tmp_path / "g.html")
    page = _Page()
    text = (tmp_path / "g.html").read_text(encoding="utf-8")
    page.feed(text)
    assert page.references == []
    assert not any(each in text for each in ("http", "@import", "url("))
    assert "ostinato::linear" in page.texts
    assert "aten.addmm.default + aten.relu.default" in page.texts
    (node,) = graph.nodes
    assert page.values == [name.partition(":")[0] for name in (*node.outputs, *node.inputs)]


def test_json_is_the_nodes(net, tmp_path):
    graph, _ = net
    graph.debug_dump(tmp_path / "g.json")
    document = json.loads((tmp_path / "g.json").read_text())
    assert document["numerics"] == "fast"
    assert document["stats"] == graph.stats()
    assert [node["op"] for node in document["nodes"]] == [node.op for node in graph.nodes]


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_a_profile_has_each_step_once_and_replays(numerics):
    count = torch.zeros(3)
    graph = Graph(numerics=numerics)
    with graph:
        count.add_(1)
        torch.empty(3).copy_(count).sin()
    steps = graph._profile(5)
    assert len(steps) == sum(graph.stats()["steps"].values())
    assert all(node.step and 0 < seconds < 10 for node, seconds in steps)
    assert count.tolist() == [6.0] * 3  # one replay that may raise, and the five that are timed


def test_a_profile_of_a_graph_with_a_python_step():
    x = torch.rand(4)
    generator = torch.Generator().manual_seed(0)
    graph = Graph()
    with graph:
        y = torch.empty(4).normal_(generator=generator) + x
    if not graph.stats()["steps"]["python"]:
        pytest.skip("no step of this graph is Python's")
    assert len(graph._profile(2)) == sum(graph.stats()["steps"].values())
    assert y.isfinite().all()
