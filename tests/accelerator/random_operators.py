"""Single lines of random programs: pointwise operators, reductions, views, joins and writes."""

from __future__ import annotations

import torch


def _expressions(text):
    return [e.strip() for line in text.strip().splitlines() for e in line.split(" ; ")]


# {a} and {b} are tensors that broadcast to each other, {k} a number, {d} a dimension.
ONE = _expressions("""
{a}.tanh() ; torch.sigmoid({a}) ; {a}.relu() ; -{a} ; {a}.abs() ; {a} * {k} ; {a} + {k} ; {k} - {a}
{a} / 3.0 ; {a}.exp() ; {a}.abs().log() ; {a}.sin() ; {a}.cos() ; torch.erf({a}) ; {a}.square() ; {a} ** 3
{a}.abs().sqrt() ; ({a}.abs() + 0.5).rsqrt() ; ({a}.abs() + 0.5).reciprocal() ; {a}.expm1()
({a}.abs()).log1p() ; {a}.exp2() ; F.gelu({a}) ; F.gelu({a}, approximate='tanh') ; F.silu({a}) ; F.elu({a})
F.selu({a}) ; F.celu({a}, 0.7) ; F.softplus({a}) ; F.mish({a}) ; F.hardswish({a}) ; F.hardsigmoid({a})
F.leaky_relu({a}, 0.1) ; F.relu6({a}) ; F.logsigmoid({a}) ; F.softsign({a}) ; F.tanhshrink({a})
F.hardtanh({a}, -0.5, 0.7) ; F.threshold({a}, 0.1, 3.0) ; {a}.clamp(-1, 1.5) ; {a}.clamp(min=0.1)
{a}.clamp(max=0.3) ; {a}.sign() ; {a}.floor() ; {a}.round() ; {a}.ceil() ; {a}.trunc() ; {a}.frac()
{a}.atan() ; {a}.sinh().clamp(-9, 9) ; {a}.asinh() ; ({a} * 0.1).tan() ; {a}.abs().pow({k})
{a}.nan_to_num(0.5) ; {a}.isnan().to(real) ; {a}.clone() ; {a}.detach() * 1 ; {a}.erfc()
{a}.remainder(1.5) ; {a}.fmod(1.5) ; torch.fmax({a}, {a} * {k}) ; ({a} > 0).to(real) ; ({a} <= {k}) * {a}
{a}.logical_not().to(real) ; {a}.double().sin().to(real) ; {a}.masked_fill({a} > 0.5, {k})
{a}.masked_fill({a}.isnan(), 0) ; {a}.sub({k}, alpha=2) ; torch.where({a} > 0, {a}, {k})
torch.zeros_like({a}) + {k} ; torch.full_like({a}, {k}) * {a} ; {a}.new_ones(())+{a}
torch.nn.functional.dropout({a}, 0.5, training=False) ; torch.rsub({a}, 1) ; {a}.to(torch.float64) + 0.1
""")
TWO = _expressions("""
{a} + {b} ; {a} * {b} ; {a} - {b} ; {a} / ({b}.abs() + 1) ; torch.add({a}, {b}, alpha={k})
torch.sub({a}, {b}, alpha={k}) ; torch.maximum({a}, {b}) ; torch.minimum({a}, {b})
torch.where({a} > {b}, {a}, {b}) ; torch.where({b} < 0, {k}, {a}) ; torch.fmin({a}, {b})
torch.atan2({a}, {b}) ; torch.lerp({a}, {b}, 0.3) ; {a}.tanh() * torch.sigmoid({b})
{a}.abs().pow({b}.clamp(-2, 2)) ; ({a} >= {b}).to(real) ; ({a} == {b}).to(real) - {a}
({a} > 0).logical_and({b} > 0).to(real) ; (({a} > 0) & ({b} < 1)).to(real)
(({a} != {b}) | ({a} < 0)).to(real) ; {a}.clamp({b} - 1, {b} + 1) ; torch.hypot({a}, {b})
{a}.masked_fill({b} < 0, {k}) ; F.silu({a}) * {b} ; F.gelu({a}) * {b} ; {a} * {b} + {a} ; {a} * 1.01 + {b}
torch.copysign({a}, {b}) ; torch.addcmul({a}, {b}, {b}, value={k})
torch.addcdiv({a}, {b}, {b}.abs() + 1, value={k}) ; torch.logaddexp({a}, {b})
torch.lerp({a}, {b}, torch.sigmoid({a})) ; torch.ops.aten.tanh_backward({b}, {a})
torch.ops.aten.sigmoid_backward({a}, {b}) ; torch.xlogy({b}, {a}.abs() + 0.1)
torch.isclose({a}, {b}).to(real) ; {a}.double() + {b} ; F.huber_loss({a}, {b}, reduction='none')
F.mse_loss({a}, {b}, reduction='none') ; F.smooth_l1_loss({a}, {b}, reduction='none')
torch.ops.aten.threshold_backward({a}, {b}, 0)
""")
REDUCE = _expressions("""
{a}.sum({d}) ; {a}.sum({d}, keepdim=True) ; {a}.mean({d}) ; {a}.mean({d}, keepdim=True)
{a}.amax({d}, keepdim=True) ; {a}.amin({d}) ; {a}.sum() ; {a}.mean() ; {a}.var({d})
{a}.std({d}, keepdim=True, correction=0) ; torch.linalg.vector_norm({a}, 2, {d}) ; {a}.max({d}).values
{a}.min({d}, keepdim=True).values ; {a}.argmax({d}) ; {a}.logsumexp({d}, keepdim=True) ; {a}.cumsum({d})
{a}.softmax({d}) ; {a}.log_softmax({d}) ; F.softmin({a}, {d}) ; {a}.prod({d}) ; ({a} > 0).any({d}).to(real)
({a} > 0).sum({d}) ; {a}.norm(dim={d}, keepdim=True) ; {a}.flatten().dot({a}.flatten())
{a}.sum({d}, dtype=torch.float64) ; {a}.abs().sum({d}) ; {a}.sort({d}).values ; {a}.topk(1, {d}).values
F.normalize({a}, dim={d}) ; {a}.square().mean({d}, keepdim=True) ; {a}.nansum({d}) ; {a}.sum((0, -1))
{a}.mean((-2, -1), keepdim=True) ; {a}.var_mean((0,), keepdim=True)[1] ; {a}.all({d}).to(real)
{a}.cummax({d}).values ; F.glu({a}, {d}) ; torch.cosine_similarity({a}, {a}.flip({d}), {d})
{a}.aminmax(dim={d})[0] ; {a}.max()
""")
VIEW = _expressions("""
{a}.transpose(0, -1) ; {a}.mT ; {a}[..., ::2] ; {a}[..., 1:] ; {a}[:1] ; {a}[0] ; {a}.flatten()
{a}.unsqueeze(0) ; {a}[..., None] ; {a}.squeeze() ; {a}.reshape(-1) ; {a}.flip(-1) ; {a}.narrow(-1, 0, 1)
{a}.expand(2, *{a}.shape) ; {a}.chunk(2, -1)[1] ; {a}.select(-1, -1) ; {a}.unfold(-1, 2, 1)
{a}.diagonal(0, 0, -1) ; {a}.contiguous() ; {a}.detach() ; {a}.movedim(0, -1)
{a}.reshape(*{a}.shape[:-1], 2, -1) ; {a}.view(-1, {a}.shape[-1]) ; {a}.permute(*reversed(range({a}.dim())))
{a}.tril() ; {a}.roll(1, -1) ; {a}.repeat_interleave(2, -1) ; F.pad({a}, (1, 2))
F.pad({a}, (0, -1), value=1.0) ; {a}.mT.contiguous() ; {a}.view_as({a}) ; {a}.split(1, 0)[0]
{a}.unbind(-1)[0] ; {a}.as_strided((2, 2), (1, 1)) ; {a}.t().contiguous().t() ; {a}.triu(1)
""")
WRITE = _expressions("""
{a}.add_({b}) ; {a}.mul_({k}) ; {a}.sub_({b}, alpha=0.5) ; {a}.relu_() ; {a}.tanh_() ; {a}.copy_({b})
{a}[..., :1] = {b}[..., :1] ; {a}[..., 1:].mul_({k}) ; {a}.zero_() ; {a}.fill_({k}) ; {a}[0] = {k}
{a}.masked_fill_({b} > 0.5, 0.25) ; {a}.div_({b}.abs() + 1) ; {a}.clamp_(-1, 1) ; F.relu({a}, inplace=True)
F.silu({a}, inplace=True) ; {a}.sigmoid_() ; {a}.lerp_({b}, 0.3) ; {a}.addcmul_({b}, {b})
torch.add({b}, 1, out={a}) ; torch.mul({b}, {b}, out={a}) ; torch.tanh({b}, out={a})
{a}.transpose(0, -1).add_(1) ; {a}.neg_() ; {a}[..., ::2].copy_({b}[..., ::2])
{a}.diagonal(0, 0, -1).zero_() ; {a}.index_fill_(-1, torch.tensor([0]), {k}) ; {a}.t().mul_(2)
{a}.index_add_(0, torch.tensor([0]), {b}[:1]) ; {a}[:, 0] = {b}[:, 0] ; torch.sigmoid({b}, out={a})
{a}.exp_().clamp_(max=3) ; {a}.add_({a}) ; {a}.mul_({a}) ; F.elu_({a}) ; F.hardtanh_({a})
{a}.index_put_((torch.tensor([0]),), {b}[0]) ; {a}.select(0, 0).add_({b}[0]) ; torch.cumsum({b}, 0, out={a})
torch.amax({b}, -1, keepdim=True, out={a}[..., :1]) ; {a}.pow_(2) ; {a}.floor_() ; {a}.copy_({b} * {k})
""")


def fill(w, template, name, partners=None):
    partner = w.partner(name, partners or torch.is_floating_point) if "{b}" in template else None
    if partners and partner and w.shares(name, partner):
        # torch leaves open what an operator reads from memory that it is writing.
        partner = f"{partner}.clone()"
    dims = w[name].dim()
    dim = w.choose([-1, *range(dims)]) if dims else 0
    return template.format(a=name, b=partner or name, k=w.scalar(), d=dim)


def apply(w, templates, name):
    return w.emit(fill(w, w.choose(templates), name))
