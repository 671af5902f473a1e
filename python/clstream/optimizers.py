# SPDX-License-Identifier: MIT
"""Optimizers: steps of SGD and AdamW on lists of arrays, with the options of PyTorch's classes."""
import ctypes

from . import capi
from .arrays import Array
from .capi import call, integer, make
from .streams import stream_of

_SGD, _ADAMW = 1, 2


def _views(name, arrays):
    for x in arrays:
        if not isinstance(x, Array):
            raise TypeError(f"{name} of {type(x).__name__}: pass Arrays (to_device)")
    return (capi.Array * len(arrays))(*(x.view for x in arrays))


class Optimizer(capi.Handle):
    """An optimizer of the C library. Steps change the parameters' arrays in place and only submit."""

    _destroy = "cls_optimizer_destroy"

    def __init__(self, parameters, stream=None, **options):
        self.parameters = list(parameters)
        views = _views("an optimizer", self.parameters)
        if not self.parameters:
            raise ValueError("an optimizer without parameters")
        self.context = self.parameters[0].context
        stream_of(stream, self.context).synchronize()  # the state is made on the default stream
        config = capi.OptimizerConfig(**options)
        super().__init__(make("cls_optimizer_create", self.context.handle, ctypes.byref(config), views, len(views)))

    def step(self, gradients, stream=None):
        """Changes every parameter by its gradient: a list in the same order, of the same types and shapes."""
        gradients = list(gradients)
        for parameter, gradient in zip(self.parameters, gradients):
            if isinstance(gradient, Array) and gradient.shape != parameter.shape:
                raise ValueError(f"a gradient of {gradient.shape} for a parameter of {parameter.shape}")
        views = _views("a step", gradients)
        call("cls_optimizer_step_async", self.handle, views, len(views), stream_of(stream, self.context).handle)

    def set_lr(self, lr, stream=None):
        """Sets the learning rate for later steps, also those of graphs that are launched later."""
        call("cls_optimizer_set_rate_async", self.handle, lr, stream_of(stream, self.context).handle)

    def get_state(self, stream=None):
        """(steps, learning rate, norm of the last gradients) after the stream's work so far. Waits."""
        stream, state = stream_of(stream, self.context), capi.OptimizerState()
        call("cls_optimizer_get_state", self.handle, ctypes.byref(state), stream.handle)
        return state.steps, state.rate, state.norm

    def set_state(self, steps, lr, stream=None):
        """Sets the count of steps and the learning rate; only submits."""
        state = capi.OptimizerState(integer(steps, name="the steps"), lr, 0)
        call("cls_optimizer_set_state_async", self.handle, ctypes.byref(state),
             stream_of(stream, self.context).handle)


class SGD(Optimizer):
    """Stochastic gradient descent. With max_norm, gradients are clipped to that norm of all of them together."""

    def __init__(self, parameters, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, *,
                 max_norm=0.0, stream=None):
        super().__init__(parameters, stream, kind=_SGD, nesterov=bool(nesterov), rate=lr, decay=weight_decay,
                         max_norm=max_norm, momentum=momentum, dampening=dampening, beta1=0, beta2=0, epsilon=0)


class AdamW(Optimizer):
    """Adam with decoupled weight decay. Parameters of 16 bits have master weights of float32."""

    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, *, max_norm=0.0,
                 stream=None):
        super().__init__(parameters, stream, kind=_ADAMW, nesterov=0, rate=lr, decay=weight_decay,
                         max_norm=max_norm, momentum=0, dampening=0, beta1=betas[0], beta2=betas[1], epsilon=eps)
