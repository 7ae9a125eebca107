"""Attention written by hand, and the parts of torch's own module: one kernel, where nobody looks between."""

from __future__ import annotations

import math

import pytest
import torch

import ostinato as ost

B, H, T, D = 2, 3, 11, 8


def replayed(function, *fed):
    """Captures, gives every tensor of ``fed`` new numbers, replays like float64; how often the kernel is."""
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        out = function(*fed)
    for tensor in fed:
        tensor.copy_(torch.randn(tensor.shape))
    graph.replay()
    want = function(*(t.double() for t in fed))
    torch.testing.assert_close(out.double(), want, rtol=1e-4, atol=1e-5)
    names = [node.op.removeprefix("ostinato::") for node in graph.nodes]
    assert names.count("attention") == 0 or "aten.clone.default" not in names
    return names.count("attention")


def heads(tokens=T):
    return torch.randn(B, tokens, H, D).transpose(1, 2)


def merged(y):
    return y.transpose(1, 2).reshape(B, -1, H * D)


SCORES = {
    "plain": lambda q, k: q @ k.mT,
    "scaled before": lambda q, k: (q * 0.3) @ (k * 1.5).mT,
    "multiplied": lambda q, k: (q @ k.mT) * (1 / math.sqrt(D)),
    "divided": lambda q, k: (q @ k.mT) / math.sqrt(D),
}


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("mask", [None, (T, T), (B, 1, 1, T), (B, H, T, T), (1, H, 1, 1)])
def test_softmax_of_products_by_hand(scores, mask):
    def function(q, k, v, *masks):
        found = SCORES[scores](q, k)
        return merged((found + masks[0] if masks else found).softmax(-1) @ v)

    masks = [] if mask is None else [torch.randn(mask)]
    assert replayed(function, heads(), heads(), heads(), *masks) == 1


def test_matrices_without_heads_and_other_lengths():
    q, k, v, mask = torch.randn(4, 5, 8), torch.randn(4, 9, 8), torch.randn(4, 9, 6), torch.randn(4, 5, 9)
    assert replayed(lambda q, k, v: torch.bmm(torch.bmm(q, k.mT).softmax(2), v), q, k, v) == 1
    for shape in ((4, 5, 9), (1, 5, 9), (4, 1, 9), (9,)):
        mask = torch.randn(shape)
        assert replayed(lambda q, k, v, m: torch.baddbmm(m, q, k.mT).softmax(-1) @ v, q, k, v, mask) == 1


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_the_module_of_torch(batch_first, causal):
    layer = torch.nn.MultiheadAttention(H * D, H, batch_first=batch_first).train()
    x = torch.randn(B, T, H * D)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(T if batch_first else B) if causal else None
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        out = layer(x, x, x, attn_mask=mask)[0]
    x.normal_()
    graph.replay()
    assert [node.op for node in graph.nodes].count("ostinato::attention") == 1
    torch.testing.assert_close(out, layer(x, x, x, attn_mask=mask)[0].detach(), rtol=1e-4, atol=1e-5)


def test_a_query_that_sees_nothing_gives_nan():
    q, k, v, mask = heads(), heads(), heads(), torch.zeros(T, T)
    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        out = (q @ k.mT + mask).softmax(-1) @ v
    assert "ostinato::attention" in [node.op for node in graph.nodes]
    mask[3] = -math.inf
    mask[4, 5] = math.nan
    mask[6, 2:] = -math.inf
    graph.replay()
    want = (q @ k.mT + mask).softmax(-1) @ v
    torch.testing.assert_close(out, want, equal_nan=True, rtol=1e-4, atol=1e-5)
    assert want[..., 3, :].isnan().all()


def test_what_somebody_looks_at_keeps_its_parts():
    kept = []

    def weights_held(q, k, v):
        kept.append((q @ k.mT).softmax(-1))
        return kept[-1] @ v

    def weights_read(q, k, v):
        weights = (q @ k.mT).softmax(-1)
        return weights @ v + weights.sum()

    def scores_read(q, k, v):
        scores = q @ k.mT
        return scores.softmax(-1) @ v + scores.mean()

    def other_rows(q, k, v):
        return (q @ k.mT).reshape(B, H, 1, T * T).softmax(-1).reshape(B, H, T, T) @ v

    def columns(q, k, v):
        return (q @ k.mT).softmax(-2) @ v

    def scaled_after_the_mask(q, k, v):
        return ((q @ k.mT + v.new_ones(T)) * 0.5).softmax(-1) @ v

    def negative_scale(q, k, v):
        return ((q @ k.mT) * -0.5).softmax(-1) @ v

    for function in (weights_held, weights_read, scores_read, other_rows, columns):
        assert replayed(function, heads(), heads(), heads()) == 0
    for function in (scaled_after_the_mask, negative_scale):
        replayed(function, heads(), heads(), heads())


def test_what_changes_in_between_is_read_before_it():
    def changed(which):
        def function(q, k, v, mask):
            q, k, v, mask = (t.clone() for t in (q, k, v, mask))
            scores = (q * 0.5) @ k.mT + mask
            (q, k, mask)[which].mul_(-2)
            return scores.softmax(-1) @ v + q.sum() + k.sum() + mask.sum()

        return function

    for which in range(3):  # what the kernel would read too late keeps the parts
        assert replayed(changed(which), heads(), heads(), heads(), torch.randn(T, T)) == 0
