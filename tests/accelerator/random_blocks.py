"""The pieces that random programs are made of: single operators, chains of them, and layers."""

from __future__ import annotations

from .random_layers import attention, cell, convolution, feed_forward, product, recurrent
from .random_operators import ONE, REDUCE, TWO, VIEW, WRITE, apply, fill

# ---- single operators and chains of them ------------------------------------------


def pointwise(w):
    apply(w, w.choose([ONE, TWO]), w.floating())


def chain(w):
    """Each reads the one before; now and then a view is taken, or somebody writes in between."""
    name = w.floating()
    for _ in range(w.number(2, 12)):
        name = apply(w, w.choose([ONE, TWO]), name) or name
        if w.chance(8):
            name = apply(w, VIEW, name) or name
        if w.chance(10):
            write(w)


def reduction(w):
    apply(w, REDUCE, w.floating())


def view(w):
    apply(w, VIEW, w.floating())


def write(w):
    if w.weights and w.chance(5):
        w.change(f"{w.choose(w.weights)}.mul_(0.99)")
        return
    name = w.floating()
    template, shape = w.choose(WRITE), w[name].shape

    def fits(tensor):
        # `out=` gives what it writes to the size of the result, so that is what it must have.
        return tensor.is_floating_point() and ("out=" not in template or tensor.shape == shape)

    w.change(fill(w, template, name, fits))


def join(w):
    first = w.floating()
    shape = w[first].shape
    same = w.having(lambda t: t.shape == shape)
    names = [first] + [w.choose(same) for _ in range(w.number(1, 3))]
    dim = w.choose([-1, *range(len(shape))]) if shape else 0
    call = w.choose(["torch.cat([{}], {})", "torch.stack([{}], {})"])
    w.emit(call.format(", ".join(names), dim))


def cast(w):
    name = w.floating()
    # A copy in each world: where float64 stands for all dtypes the cast alone would be the tensor itself.
    low = w.emit(f"{name}.to({w.choose(['half', 'torch.float64'])}, copy=True)")
    if low:
        low = apply(w, w.choose([ONE, TWO]), low) or low
        w.emit(f"{low}.to(real, copy=True)")


def lookup(w):
    rows = w.number(2, 9)
    table = w.weight((rows, w.choose([4, 8, 5, 16])))
    where = w.given(f"indices({w.choose([(3,), (2, 4), (1,)])}, {rows}, {len(w.setup)})", "i")
    w.emit(
        w.choose(
            [
                f"F.embedding({where}, {table})",
                f"{table}[{where}]",
                f"{table}.index_select(0, {where}.view(-1))",
            ]
        )
    )
    name = w.floating()
    if w.chance(40):
        w.emit(w.choose([f"{name}.gather(-1, {name}.argsort(-1))", f"{name}[torch.tensor([0, 0])]"]))


def by_hand(w):
    """Softmax and log-sum-exp as people write them."""
    name = w.floating()
    top = w.emit(f"{name}.amax(-1, keepdim=True)")
    powers = top and w.emit(f"({name} - {top}).exp()")
    if powers:
        w.emit(
            w.choose(
                [f"{powers} / {powers}.sum(-1, keepdim=True)", f"{powers}.sum(-1).log() + {top}[..., 0]"]
            )
        )


BLOCKS = [pointwise, chain, chain, reduction, view, write, write, join, feed_forward, feed_forward, product]
BLOCKS += [cast, lookup, convolution, recurrent, cell, attention, by_hand]
