"""Run in a process of its own with OSTINATO_ISA set: attention, against float64 and eager torch."""

from __future__ import annotations

import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost
from ostinato import _native

F = torch.nn.functional
flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
INF, NAN = float("inf"), float("nan")

# Around one query, the width of a vector, two of them, and a block of keys.
LENGTHS = st.sampled_from([1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 33, 48, 63, 64, 65, 100, 130])
DIMS = st.sampled_from([1, 2, 7, 8, 16, 20, 32, 64, 80, 128, 256])


def replayed(q, k, v, mask, causal, scale, logsumexp):
    graph = ost.accelerator.Graph(numerics="fast")
    now = [t.clone() for t in (q, k, v)]
    for t in (q, k, v):
        t.zero_()
    with torch.no_grad(), graph:
        out = flash(q, k, v, 0.0, causal, attn_mask=mask, scale=scale)
        out = out if logsumexp else out[:1]
    for t, value in zip((q, k, v), now, strict=True):
        t.copy_(value)
    graph.replay()
    assert [node.op for node in graph.nodes] == ["ostinato::attention"]
    return out


def exact(q, k, v, mask, causal, scale):
    """Attention by its definition, in float64."""
    q, k, v = q.double(), k.double(), v.double()
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    products = q @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        products = products + mask.double()
    if causal:
        products = products.masked_fill(torch.ones(products.shape[-2:]).triu(1).bool(), -INF)
    largest = products[products.isfinite()].abs().max() if products.isfinite().any() else 0.0
    return torch._safe_softmax(products, -1) @ v, products.logsumexp(-1), float(largest)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(1, 2),
    st.sampled_from([(1, 1), (3, 3), (4, 2), (6, 1)]),
    LENGTHS,
    LENGTHS,
    DIMS,
    st.sampled_from(["none", "causal", "mask", "row", "-inf", "large"]),
    st.sampled_from([None, 0.3]),
    st.booleans(),
)
def finite(batch, heads, queries, keys, dims, kind, scale, logsumexp):
    torch.manual_seed(0)
    q = torch.randn(batch, queries, heads[0], dims).transpose(1, 2)
    k = torch.randn(batch, heads[1], keys, dims)
    v = torch.randn(batch, heads[1], keys, dims + 3)[..., 3:]
    causal = kind == "causal"
    mask = None
    if kind == "mask":
        mask = torch.randn(queries, keys)
    elif kind == "row":
        mask = torch.randn(batch, 1, 1, keys)
    elif kind == "-inf":
        mask = torch.randn(batch, heads[0], queries, keys)
        mask.masked_fill_(torch.rand_like(mask) < 0.7, -INF)
    elif kind == "large":
        q.mul_(30)
    got = replayed(q, k, v, mask, causal, scale, logsumexp)
    want, sums, largest = exact(q, k, v, mask, causal, scale)
    eager = flash(q, k, v, 0.0, causal, attn_mask=mask, scale=scale)[0]
    # What rounding adds to a product is what it adds to the logarithm of a weight: a few units in the last
    # place of the largest product count, whatever luck eager has with it.
    rounding = 8 * torch.finfo(torch.float32).eps * largest
    assert (got[0] - want).abs().max() <= 4 * (eager - want).abs().max() + 1e-5 + rounding
    if logsumexp:
        sums = sums.where(sums > -INF, 0.0)  # as eager: a query that sees no key counts as a sum of one
        torch.testing.assert_close(got[1].double(), sums, rtol=1e-4, atol=2e-5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.sampled_from([1, 2, 5, 20, 40]),
    st.sampled_from([3, 20, 70]),
    st.sampled_from(["q", "k", "v", "mask"]),
    st.sampled_from([NAN, INF, -INF]),
    st.integers(0, 10_000),
)
def special(queries, keys, where, value, at):
    """Numbers that are none go where they go in eager."""
    torch.manual_seed(0)
    tensors = {
        "q": torch.randn(1, 2, queries, 16),
        "k": torch.randn(1, 2, keys, 16),
        "v": torch.randn(1, 2, keys, 16),
        "mask": torch.randn(queries, keys),
    }
    tensors[where].view(-1)[at % tensors[where].numel()] = value
    (got,) = replayed(*tensors.values(), False, None, False)
    q, k, v, mask = tensors.values()
    want = flash(q, k, v, attn_mask=mask)[0]
    # Fewer keys than a vector has lanes, none of whose products is a number: eager takes them for masked.
    want = got.where(got.isnan() & (want == 0), want)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5, equal_nan=True)


if __name__ == "__main__":
    finite()
    special()
    print(_native.info()["isa"])
