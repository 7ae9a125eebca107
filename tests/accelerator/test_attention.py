"""Attention of fast numerics: any layout of heads, masks, a cache of keys, gradients; what stays as it is."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

F = torch.nn.functional
attend = F.scaled_dot_product_attention


def replayed(function, *fed):
    """Captures, gives every tensor of ``fed`` new numbers, replays like eager; the names of the nodes."""
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        out = function()
    for tensor in fed:
        tensor.normal_()
    graph.replay()
    torch.testing.assert_close(out, function(), rtol=1e-4, atol=1e-5)
    return [node.op.removeprefix("ostinato::") for node in graph.nodes]


def heads(batch, count, tokens, dims):
    return torch.randn(batch, tokens, count, dims).transpose(1, 2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tokens", [1, 7, 40, 200])
def test_heads_of_one_projection(tokens, causal):
    x = torch.randn(2, tokens, 3 * 4 * 16)

    def function():
        q, k, v = (t.view(2, tokens, 4, 16).transpose(1, 2) for t in x.chunk(3, -1))
        return attend(q, k, v, is_causal=causal).transpose(1, 2).reshape(2, tokens, 64)

    assert replayed(function, x) == ["attention"]


def test_masks():
    q, k, v = heads(2, 4, 9, 16), heads(2, 4, 21, 16), heads(2, 4, 21, 16)
    for shape in ((9, 21), (2, 1, 9, 21), (1, 4, 9, 21), (2, 1, 1, 21), (2, 4, 21, 9)):
        mask = torch.randn(shape)
        used = mask.transpose(-1, -2) if shape[-1] == 9 else mask
        assert replayed(lambda m=used: attend(q, k, v, attn_mask=m), q, k, v, mask) == ["attention"]
    seen = torch.rand(9, 21) < 0.5
    seen[3] = False  # a query that sees nothing
    assert "attention" in replayed(lambda: attend(q, k, v, attn_mask=seen), q, k, v)


def test_a_mask_that_changes_is_read_anew():
    q, k, v = heads(1, 2, 1, 16), heads(1, 2, 30, 16), heads(1, 2, 30, 16)
    length = torch.tensor(4)

    def function():
        return attend(q, k, v, attn_mask=(torch.arange(30) < length)[None, None, None])

    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        out = function()
    for n in (1, 29, 30):
        length.fill_(n)
        graph.replay()
        torch.testing.assert_close(out, function(), rtol=1e-4, atol=1e-5)


def test_a_cache_of_keys_that_grows_in_place():
    cache_k, cache_v, x = torch.zeros(1, 2, 64, 16), torch.zeros(1, 2, 64, 16), torch.randn(1, 2, 1, 16)
    at = torch.tensor([0])

    def function():
        cache_k.index_copy_(2, at, x * 0.5)
        cache_v.index_copy_(2, at, x + 1)
        return attend(x, cache_k, cache_v, attn_mask=(torch.arange(64) <= at)[None])

    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        out = function()
    for step in range(5):
        at.fill_(step)
        x.normal_()
        graph.replay()
        got = out.clone()
        torch.testing.assert_close(got, function(), rtol=1e-4, atol=1e-5)
    assert "ostinato::attention" in [node.op for node in graph.nodes]


def test_grouped_heads_and_scale():
    q, k, v = heads(2, 6, 11, 32), heads(2, 2, 15, 32), heads(2, 2, 15, 32)
    assert replayed(lambda: attend(q, k, v, enable_gqa=True, scale=0.5), q, k, v) == ["attention"]


def test_what_goes_through_other_steps():
    q, k, v = (heads(1, 2, 8, 16).double() for _ in range(3))
    assert "attention" not in replayed(lambda: attend(q, k, v), q, k, v)
    wide = [heads(1, 2, 8, 300) for _ in range(3)]
    assert "attention" not in replayed(lambda: attend(*wide), *wide)
    q, k, v = heads(1, 2, 5, 16), heads(1, 2, 600, 16), heads(1, 2, 600, 16)
    assert "attention" not in replayed(lambda: attend(q, k, v), q, k, v)
    empty = torch.randn(1, 2, 0, 16)
    k, v = heads(1, 2, 8, 16), heads(1, 2, 8, 16)
    assert "attention" not in replayed(lambda: attend(empty, k, v), k)


def test_training_through_attention():
    q, k, v = (heads(1, 2, 12, 16).requires_grad_() for _ in range(3))

    def step():
        return torch.autograd.grad(attend(q, k, v, is_causal=True).square().sum(), [q, k, v])

    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        out = step()
    with torch.no_grad():
        q.normal_()
    graph.replay()
    torch.testing.assert_close(out, step(), rtol=1e-4, atol=1e-5)
    assert "ostinato::attention" in [node.op for node in graph.nodes]  # with the sums that the gradient reads


def test_several_threads_share_heads_and_queries():
    before = torch.get_num_threads()
    q = heads(2, 3, 150, 64)
    try:
        torch.set_num_threads(2)
        replayed(lambda: (attend(q, q, q), attend(q, q, q, is_causal=True)), q)
    finally:
        torch.set_num_threads(before)
