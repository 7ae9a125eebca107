"""Optimizers: torch.optim's, with one native call for all parameters of a group."""

from ._adagrad import Adagrad as Adagrad
from ._adam import (
    Adam as Adam,
    AdamW as AdamW,
)
from ._sgd import SGD as SGD
