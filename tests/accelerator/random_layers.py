"""The layers of networks, as pieces of random programs: each part of one may be missing or another."""

from __future__ import annotations

import torch

from .random_operators import TWO, apply

ACTIVATIONS = ["F.relu({a})", "F.gelu({a})", "F.silu({a})", "{a}.tanh()", "{a}.sigmoid()", "F.elu({a})"]


# ---- linear layers ------------------------------------------------------------------


def _linear(w, name, outputs=None):
    inputs = w[name].shape[-1] if w[name].dim() else 0
    if not inputs or inputs > 300 or w[name].dtype is not torch.float32:
        return None
    outputs = outputs or w.choose([inputs, 4, 7, 16, 33, 1, 64])
    weight = w.weight((outputs, inputs))
    bias = w.weight((outputs,)) if w.chance(70) else None
    forms = [f"F.linear({name}, {weight}, {bias})", f"{name} @ {weight}.t()"]
    if bias:
        forms += [f"{name} @ {weight}.t() + {bias}", f"torch.addmm({bias}, {name}, {weight}.t())"]
        forms += [f"torch.addmm({bias}, {name}, {weight}.t(), beta=0.5, alpha=2)"]
    return w.emit(w.choose(forms))


def _normed(w, name):
    if not w[name].dim():
        return None
    size = w[name].shape[-1]
    gain, shift = w.weight((size,)), w.weight((size,))
    return w.emit(
        w.choose(
            [
                f"F.layer_norm({name}, ({size},), {gain}, {shift})",
                f"F.rms_norm({name}, ({size},), {gain})",
                f"F.layer_norm({name}, ({size},))",
                f"{name} * torch.rsqrt({name}.pow(2).mean(-1, keepdim=True) + 1e-5) * {gain}",
                f"({name} - {name}.mean(-1, keepdim=True)) / ({name}.var(-1, keepdim=True) + 1e-5).sqrt()",
            ]
        )
    )


def feed_forward(w):
    """Norm, linear, activation, linear, residual: each piece may be missing."""
    start = name = w.floating()
    if w.chance(50):
        name = _normed(w, name) or name
    for _ in range(w.number(1, 3)):
        name = _linear(w, name) or name
        if w.chance(30):
            name = apply(w, TWO, name) or name
        if w.chance(70):
            name = apply(w, ACTIVATIONS, name) or name
    if w[start].dim() and w.chance(50):
        name = _linear(w, name, w[start].shape[-1]) or name
        w.emit(f"{start} + {name}")


def product(w):
    name = w.floating()
    others = w.having(lambda t: t.is_floating_point() and t.dtype == w[name].dtype)
    other = w.choose(others)
    forms = [
        "{a} @ {b}",
        "{a} @ {b}.mT",
        "torch.einsum('...i,...i->...', {a}, {b})",
        "{a}.flatten().outer({b}.flatten())",
    ]
    forms += [
        "torch.bmm({a}, {b}.mT)",
        "torch.baddbmm({a}, {a} @ {a}.mT, {a})",
        "{a}.mT @ {a}",
        "torch.mv({a}, {b}[0])",
    ]
    w.emit(f"({w.choose(forms)}) * 0.3".format(a=name, b=other))


# ---- convolutions --------------------------------------------------------------------


def convolution(w):
    dims = w.choose([2, 1, 2])
    found = w.having(lambda t: t.dim() == dims + 2 and t.dtype is torch.float32 and 0 < t.shape[1] <= 16)
    if found and w.chance(70):
        name = w.choose(found)
    else:
        shape = (w.choose([1, 2, 3]), w.choose([3, 1, 4, 8, 16]), *[w.choose([8, 5, 1, 13])] * dims)
        layout = w.choose(["contiguous", "channels_last", "transposed"] if dims == 2 else ["contiguous"])
        name = w.tensor(shape, layout=layout)
    for _ in range(w.number(1, 2)):
        name = _convolved(w, name, dims) or name


def _convolved(w, name, dims):
    channels = w[name].shape[1]
    groups = w.choose([1, 1, channels])
    outputs = groups * w.choose([1, 2]) if groups > 1 else w.choose([4, 8, 1, 16, 5])
    kernel = w.choose([3, 1, 2, 5])
    weight = w.weight((outputs, channels // groups, *[kernel] * dims))
    bias = w.weight((outputs,)) if w.chance(50) else None
    step, pad = w.choose([1, 2]), w.choose([kernel // 2, 0, 1])
    spread = w.choose([1, 1, 1, 2])
    if w.chance(10):
        text = f"F.conv_transpose{dims}d({name}, {weight}.transpose(0, 1).contiguous(), stride={step})"
    else:
        text = f"F.conv{dims}d({name}, {weight}, {bias}, {step}, {pad}, {spread}, {groups})"
    made = w.emit(text)
    if not made:
        return None
    if w.chance(50):
        made = _batch_normed(w, made, outputs) or made
    if w.chance(30):
        made = apply(w, TWO, made) or made
    if w.chance(60):
        made = apply(w, ["F.relu({a}, inplace=True)", *ACTIVATIONS, "F.hardswish({a})"], made) or made
    if w.chance(20):
        pool = w.choose(
            ["F.max_pool{d}d({a}, 2)", "F.avg_pool{d}d({a}, 2)", "F.adaptive_avg_pool{d}d({a}, 1)"]
        )
        made = w.emit(pool.format(d=dims, a=made)) or made
    return made


def _batch_normed(w, name, channels):
    mean, shift = w.weight((channels,)), w.weight((channels,))
    gain = w.weight((channels,))
    spread = w.given(f"values(real, ({channels},), seed={len(w.setup)}).square() + 0.5", "c")
    forms = [
        f"F.batch_norm({name}, {mean}, {spread}, {gain}, {shift})",
        f"F.batch_norm({name}, {mean}, {spread})",
    ]
    forms += [
        f"F.batch_norm({name}, None, None, {gain}, {shift}, True)",
        f"F.group_norm({name}, 1, {gain}, {shift})",
    ]
    forms += [f"F.instance_norm({name})"]
    return w.emit(w.choose(forms))


# ---- recurrent layers ----------------------------------------------------------------


def recurrent(w):
    inputs, hidden = w.choose([4, 7, 16, 33]), w.choose([4, 8, 5, 17])
    kind = w.choose(["LSTM", "GRU", "RNN"])
    options = w.choose(["", ", num_layers=2", ", bidirectional=True", ", batch_first=True", ", bias=False"])
    layer = w.given(f"nn.{kind}({inputs}, {hidden}{options}, dtype=real)", "m")
    x = w.tensor((w.choose([1, 3]), w.choose([1, 2]), inputs))
    count = 3 if kind == "LSTM" else 2
    made = w.emit(f"flat({layer}({x}))", count)
    if made and w.chance(50):
        feed_forward(w)


def cell(w):
    """A step of a recurrent policy: by hand or as a module, with its state written back or not."""
    inputs, hidden, batch = w.choose([4, 16, 47]), w.choose([4, 8, 17]), w.choose([1, 2])
    x, h, c = w.tensor((batch, inputs)), w.tensor((batch, hidden)), w.tensor((batch, hidden))
    if w.chance(50):
        layer = w.given(f"nn.{w.choose(['LSTMCell', 'GRUCell'])}({inputs}, {hidden}, dtype=real)", "m")
        lstm = isinstance(w[layer], torch.nn.LSTMCell)
        state = f"({h}, {c})" if lstm else h
        made = w.emit(f"{layer}({x}, {state})", 2) if lstm else [w.emit(f"{layer}({x}, {state})")]
    else:
        gates = _gates(w, x, h, inputs, hidden)
        parts = gates and w.emit(f"{gates}.chunk(4, -1)", 4)
        if not parts:
            return
        i, f, g, o = parts
        new_c = w.emit(f"{f}.sigmoid() * {c} + {i}.sigmoid() * {g}.tanh()")
        new_h = new_c and w.emit(f"{o}.sigmoid() * {new_c}.tanh()")
        made = new_h and [new_h, new_c]
    if made and w.chance(50):
        for state, new in zip((h, c), made, strict=False):
            w.change(f"{state}.copy_({new})")
    if made and w.chance(50):
        feed_forward(w)


def _gates(w, x, h, inputs, hidden):
    wide, deep = w.weight((4 * hidden, inputs)), w.weight((4 * hidden, hidden))
    bias = w.weight((4 * hidden,))
    return w.emit(
        w.choose(
            [
                f"F.linear({x}, {wide}, {bias}) + F.linear({h}, {deep})",
                f"F.linear({x}, {wide}, {bias}) + F.linear({h}, {deep}, {bias})",
                f"F.linear(torch.cat([{x}, {h}], 1), torch.cat([{wide}, {deep}], 1), {bias})",
            ]
        )
    )


# ---- attention -----------------------------------------------------------------------


def attention(w):
    batch, heads, width = w.choose([1, 2]), w.choose([1, 2, 4]), w.choose([4, 8, 5, 16])
    q_rows, k_rows = w.choose([1, 3, 8]), w.choose([3, 8, 1])
    # No special numbers: of a NaN torch's own kernel makes 0 or NaN, depending on the number of keys.
    q = w.tensor((batch, heads, q_rows, width), special=False)
    k, v = (w.tensor((batch, heads, k_rows, width), special=False) for _ in "kv")
    if w.chance(20):  # a cache of keys, written in place
        w.change(f"{k}[:, :, {k_rows - 1}:].copy_({q}[:, :, :1])")
    mask = w.tensor((q_rows, k_rows)) if w.chance(40) else None
    forms = [f"F.scaled_dot_product_attention({q}, {k}, {v}, is_causal={mask is None})"]
    forms += [f"F.scaled_dot_product_attention({q}, {k}, {v}, scale=0.3)"]
    forms += [f"(({q} @ {k}.mT) * {width**-0.5:.4f}).softmax(-1) @ {v}"]
    if mask:
        forms += [f"F.scaled_dot_product_attention({q}, {k}, {v}, attn_mask={mask})"]
        forms += [f"F.scaled_dot_product_attention({q}, {k}, {v}, attn_mask={mask} > 0)"]
        forms += [f"({q} @ {k}.mT / 2 + {mask}).softmax(-1) @ {v}"]
        forms += [f"({q} @ {k}.mT).masked_fill({mask} > 0, -inf).softmax(-1) @ {v}"]
    made = w.emit(w.choose(forms))
    if made and w.chance(60):
        name = w.emit(f"{made}.transpose(1, 2).reshape({batch}, {q_rows}, -1)")
        if name:
            _linear(w, name)
