"""The conformance suite: what a device's graphs do, checked by whoever implements them.

One line runs it; ``-p`` names the module that brings the device, where torch does not::

    python -m ostinato.testing --device cpu --numerics fast
    python -m ostinato.testing --device sketch -p sketch_graph

The oracle is eager torch on the same device: bit for bit in exact numerics, within
rtol 1e-4 and atol 1e-5 in fast numerics. A table at the end says what holds in each
group. A check of something that the implementation does not name in ``supports`` counts as
lacking, not as failing. All other options are pytest's.
"""
