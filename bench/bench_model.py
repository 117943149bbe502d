"""A model that needs every package to be imported and computes next to nothing: what is left is the start itself."""

import torch


def load():
    weights = torch.ones(64, 64)
    return lambda request: {"sum": float((weights @ weights).sum())}
