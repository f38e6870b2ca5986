"""The softmax head of a large model on the GPU, for torch, at the speed of its matrix products.

    loss = linear_cross_entropy(h, W, targets, bias=b, z_loss=1e-4)      # with autograd, no n x K in memory
    log_z = log_normalizer(h, W, bias=b)
    log_p = selected_log_probs(h, W, index, bias=b)

h is (..., d), W is (K, d), both bfloat16, float16 or float32 on one CUDA device; tensors are used where they are, on
torch's current stream. Nothing is compiled at run time, nothing waits for the GPU but the check of the targets
(`check=False` leaves it out, and so does a capture), so calls can be captured in CUDA graphs. The module
libselfnorm_cuda.so is found beside this file, in a build folder, or by SELFNORM_CUDA_MODULE.
"""

import ctypes
import math
import os
import pathlib
import threading

import torch

_ABI = 2
_TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
_pointer, _i32, _i64, _u64, _f32 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64, ctypes.c_float


class _Options(ctypes.Structure):  # selfnorm_head_options of gpu/module.h
    _fields_ = [("logit_scale", _f32), ("softcap", _f32), ("label_smoothing", _f32), ("penalty", _f32), ("center", _f32),
                ("is_mean", _i32), ("ignore_index", _i64), ("first_class", _i64), ("all_classes", _i64)]


class _Step(ctypes.Structure):  # selfnorm_head_step
    _fields_ = [("size", _u64), ("rows", _i64), ("dim", _i64), ("classes", _i64), ("type", _i32), ("sheet_type", _i32),
                ("states", _pointer), ("state_stride", _i64), ("parts", _i64), ("weight", _pointer), ("weight_stride", _i64),
                ("bias", _pointer), ("carrier", _pointer), ("options", _Options),
                ("target", _pointer), ("token_weight", _pointer), ("row_gradient", _pointer), ("given_log_z", _pointer),
                ("selected", _pointer), ("picks", _i64), ("selected_gradient", _pointer),
                ("log_z", _pointer), ("target_score", _pointer), ("nll", _pointer), ("row_penalty", _pointer),
                ("entropy", _pointer), ("expected", _pointer), ("best", _pointer), ("better", _pointer), ("moments", _pointer),
                ("selected_log_p", _pointer), ("loss", _pointer),
                ("d_states", _pointer), ("d_weight", _pointer), ("d_bias", _pointer), ("d_states_type", _i32),
                ("d_weight_type", _i32), ("is_added", _i32),
                ("workspace", _pointer), ("workspace_bytes", _u64), ("stream", _pointer)]


def _candidates():
    given = os.environ.get("SELFNORM_CUDA_MODULE")
    if given:
        return [given]
    here = pathlib.Path(__file__).resolve().parent
    name = "libselfnorm_cuda.so"
    places = [here / name] + [folder / "build" / kind / name for folder in here.parents[:3] for kind in ("release", "gpu")]
    return [str(place) for place in places if place.exists()] + [name]


class _Module:
    """The loaded module and its context on each device."""

    def __init__(self):
        self._lock = threading.Lock()
        self._library = None
        self._contexts = {}

    def library(self):
        if self._library is None:
            path = _candidates()[0]
            torch.cuda.init()
            try:
                library = ctypes.CDLL(path)
            except OSError as failure:
                raise RuntimeError(f"{path} cannot be loaded ({failure}); build it with `make gpu` where nvcc is, or set "
                                   "SELFNORM_CUDA_MODULE to its path") from None
            library.selfnorm_cuda_open.restype = _pointer
            library.selfnorm_cuda_open.argtypes = [ctypes.c_int, ctypes.c_char_p, _u64]
            library.selfnorm_cuda_error.restype = ctypes.c_char_p
            library.selfnorm_cuda_error.argtypes = [_pointer]
            library.selfnorm_head_workspace.restype = _u64
            library.selfnorm_head_workspace.argtypes = [ctypes.POINTER(_Step), _u64]
            for name in ("selfnorm_head_run", "selfnorm_head_status"):
                getattr(library, name).argtypes = [_pointer, ctypes.POINTER(_Step)]
            library.selfnorm_cuda_scale.argtypes = [_pointer, _pointer, ctypes.c_int, _u64, _pointer, _pointer]
            if library.selfnorm_cuda_abi() != _ABI:
                raise RuntimeError(f"{path} has the interface {library.selfnorm_cuda_abi()}; expected {_ABI}: build it anew")
            self._library = library
        return self._library

    def context(self, device):
        with self._lock:
            if device not in self._contexts:
                error = ctypes.create_string_buffer(512)
                context = self.library().selfnorm_cuda_open(device, error, len(error))
                if not context:
                    raise RuntimeError(error.value.decode())
                self._contexts[device] = context
            return self._contexts[device]

    def must(self, context, status, kind=RuntimeError):
        if status != 0:
            raise kind(self.library().selfnorm_cuda_error(context).decode())


_module = _Module()
_GIB = 1 << 30


def _address(tensor):
    return None if tensor is None else tensor.data_ptr()


def _floats(tensor, shape, name, like):
    if tensor is None:
        return None
    if tuple(tensor.shape) != tuple(shape) or tensor.device != like.device:
        raise ValueError(f"{name} has the shape {tuple(tensor.shape)} on {tensor.device}; expected {tuple(shape)} on {like.device}")
    return tensor.detach().to(torch.float32).contiguous()


class _Head:
    """States and weight as a step takes them."""

    def __init__(self, h, W, bias, carrier, options):
        if h.dtype not in _TYPES or W.dtype != h.dtype:
            raise TypeError(f"h is {h.dtype} and W is {W.dtype}; expected both bfloat16, float16 or float32")
        if not h.is_cuda or W.device != h.device:
            raise ValueError(f"h is on {h.device} and W on {W.device}; expected one CUDA device")
        if W.dim() != 2 or h.shape[-1] != W.shape[1]:
            raise ValueError(f"h is {tuple(h.shape)} and W is {tuple(W.shape)}; expected (..., d) and (K, d)")
        self.leading = h.shape[:-1]
        self.h = h.detach().reshape(-1, h.shape[-1])
        self.W = W.detach()
        if self.h.stride(1) != 1:
            self.h = self.h.contiguous()
        if self.W.stride(1) != 1:
            self.W = self.W.contiguous()
        self.rows, self.dim = self.h.shape
        self.classes = self.W.shape[0]
        self.bias = _floats(bias, (self.classes,), "bias", h)
        self.carrier = _floats(carrier, (self.classes,), "carrier", h)
        self.options = options
        self.context = _module.context(h.device.index)

    def empty(self, *shape, dtype=torch.float32):
        return torch.empty(*shape, dtype=dtype, device=self.h.device)

    def run(self, budget, check=False, **fields):
        if self.rows == 0:
            return
        step = _Step(size=ctypes.sizeof(_Step), rows=self.rows, dim=self.dim, classes=self.classes, type=_TYPES[self.h.dtype],
                     sheet_type=_TYPES[self.h.dtype], states=_address(self.h), state_stride=self.h.stride(0),
                     weight=_address(self.W), weight_stride=self.W.stride(0), bias=_address(self.bias),
                     carrier=_address(self.carrier), options=self.options)
        for name, value in fields.items():
            setattr(step, name, value.data_ptr() if isinstance(value, torch.Tensor) else value)
        for name in ("d_states", "d_weight"):
            if isinstance(fields.get(name), torch.Tensor):
                setattr(step, name + "_type", _TYPES[fields[name].dtype])
        library = _module.library()
        bytes_needed = library.selfnorm_head_workspace(step, budget)
        workspace = self.empty(bytes_needed, dtype=torch.uint8)
        step.workspace, step.workspace_bytes = workspace.data_ptr(), bytes_needed
        step.stream = torch.cuda.current_stream(self.h.device).cuda_stream
        _module.must(self.context, library.selfnorm_head_run(self.context, step))
        if check and not torch.cuda.is_current_stream_capturing():
            _module.must(self.context, library.selfnorm_head_status(self.context, step), IndexError)

    def scale(self, tensor, factor):
        if tensor is None:
            return None
        factor = factor.detach().to(torch.float32)
        stream = torch.cuda.current_stream(self.h.device).cuda_stream
        _module.must(self.context, _module.library().selfnorm_cuda_scale(
            self.context, tensor.data_ptr(), _TYPES[tensor.dtype], tensor.numel(), factor.data_ptr(), stream))
        return tensor


class _LinearCrossEntropy(torch.autograd.Function):
    """mean and sum: gradients are made with the loss, where the scores are, and scaled by what comes back. none: the
    scores are made again once the gradient of each row is known."""

    @staticmethod
    def forward(ctx, h, W, bias, head, call):
        head_targets, weight = call["targets"], call["token_weight"]
        lse, nll, penalty = head.empty(head.rows), head.empty(head.rows), head.empty(head.rows)
        loss = head.empty(3)
        outputs = dict(log_z=lse, nll=nll, row_penalty=penalty, target=head_targets, token_weight=weight)
        ctx.head, ctx.call = head, call
        ctx.is_none = call["reduction"] == "none"
        ctx.shape, ctx.types = h.shape, (h.dtype, W.dtype, None if bias is None else bias.dtype)
        ctx.mark_non_differentiable(lse, nll, penalty)
        needs = ctx.needs_input_grad[:3]
        if ctx.is_none:
            head.run(call["budget"], call["check"], **outputs)
            ctx.lse = lse
            value = nll + penalty
            if weight is not None:
                value = value * weight
            return value, lse, nll, penalty
        ctx.gradients = _gradients(head, needs, call["acc_dtype"])
        ctx.lift = 1.0
        if h.dtype == torch.float16 and call["reduction"] == "mean" and head.rows > 0:
            # The gradients of a mean lose bits in float16: they are made larger, by a power of 2 that backward takes away.
            ctx.lift = 2.0 ** math.ceil(math.log2(head.rows) / 2)
            outputs["row_gradient"] = head.empty(head.rows).fill_(ctx.lift)
        head.run(call["budget"], call["check"], loss=loss, **outputs, **ctx.gradients)
        return loss[0], lse, nll, penalty

    @staticmethod
    def backward(ctx, upstream, *_):
        head, call = ctx.head, ctx.call
        if ctx.is_none:
            made = _gradients(head, ctx.needs_input_grad[:3], call["acc_dtype"])
            head.run(call["budget"], target=call["targets"], token_weight=call["token_weight"],
                     row_gradient=upstream.detach().to(torch.float32).contiguous(), **made)
        else:
            made, ctx.gradients = ctx.gradients, None
            if made is None:
                raise RuntimeError("the gradients of this loss were taken already; call linear_cross_entropy again")
            factor = upstream if ctx.lift == 1 else upstream / ctx.lift
            for tensor in made.values():
                head.scale(tensor, factor)
        return _returned(made, ctx.shape, ctx.types) + (None, None)


def _gradients(head, needs, acc_dtype):
    made = {}
    if needs[0]:
        made["d_states"] = head.empty(head.rows, head.dim, dtype=head.h.dtype)
    if needs[1]:
        made["d_weight"] = head.empty(head.classes, head.dim, dtype=acc_dtype or head.W.dtype)
    if needs[2]:
        made["d_bias"] = head.empty(head.classes)
    if head.rows == 0:
        for tensor in made.values():
            tensor.zero_()
    return made


def _returned(made, shape, types):
    d_states, d_weight, d_bias = (made.get(name) for name in ("d_states", "d_weight", "d_bias"))
    return (None if d_states is None else d_states.view(shape), None if d_weight is None else d_weight.to(types[1]),
            None if d_bias is None else d_bias.to(types[2]))


def _options(logit_scale=1.0, softcap=None, label_smoothing=0.0, z_loss=0.0, center=0.0, is_mean=False, ignore_index=-100,
             first_class=0, all_classes=0):
    return _Options(1.0 if logit_scale is None else logit_scale, softcap or 0.0, label_smoothing, z_loss or 0.0, center,
                    int(is_mean), ignore_index, first_class, all_classes)


def linear_cross_entropy(h, W, targets, *, bias=None, z_loss=0.0, z_center=0.0, softcap=None, logit_scale=None,
                         label_smoothing=0.0, token_weight=None, ignore_index=-100, reduction="mean", acc_dtype=None,
                         return_lse=False, carrier=None, memory=_GIB, check=True):
    """The cross-entropy of softmax(s), s = log h(k) + cap tanh(scale (W h + bias) / cap), plus z_loss (log Z - z_center)^2.

    reduction: "mean" (over the sum of the token weights that are not ignored; 0 when all are), "sum" or "none".
    acc_dtype: of dW while runs of rows are added to it; W's own unless given (torch.float32). `memory` bounds the
    scores that are held at once, in bytes. return_lse: (loss, log Z, nll, penalty), the last three one a row and
    without gradient. A target that is no class is an IndexError."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction is {reduction!r}; expected 'mean', 'sum' or 'none'")
    head = _Head(h, W, bias, carrier, _options(logit_scale, softcap, label_smoothing, z_loss, z_center, reduction == "mean",
                                               ignore_index))
    if targets.numel() != head.rows or targets.device != h.device:
        raise ValueError(f"targets are {tuple(targets.shape)} on {targets.device}; expected {tuple(head.leading)} on {h.device}")
    call = dict(targets=targets.reshape(-1).to(torch.int64).contiguous(), reduction=reduction, acc_dtype=acc_dtype,
                token_weight=_floats(None if token_weight is None else token_weight.reshape(-1), (head.rows,), "token_weight", h),
                budget=memory, check=check)
    if head.rows == 0:
        return (h.sum() + W.sum()) * 0
    loss, lse, nll, penalty = _LinearCrossEntropy.apply(h, W, bias, head, call)
    shaped = [x.view(head.leading) for x in (lse, nll, penalty)]
    if reduction == "none":
        loss = loss.view(head.leading)
    return (loss, *shaped) if return_lse else loss


class _LogNormalizer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, W, bias, head, budget):
        out = head.empty(head.rows)
        head.run(budget, log_z=out)
        ctx.head, ctx.budget, ctx.shape = head, budget, h.shape
        ctx.types = (h.dtype, W.dtype, None if bias is None else bias.dtype)
        return out

    @staticmethod
    def backward(ctx, upstream):
        made = _gradients(ctx.head, ctx.needs_input_grad[:3], None)
        ctx.head.run(ctx.budget, row_gradient=upstream.detach().to(torch.float32).contiguous(), **made)
        return _returned(made, ctx.shape, ctx.types) + (None, None)


def log_normalizer(h, W, bias=None, *, softcap=None, logit_scale=None, carrier=None, memory=_GIB):
    """log Z of every state, with autograd."""
    head = _Head(h, W, bias, carrier, _options(logit_scale, softcap))
    return _LogNormalizer.apply(h, W, bias, head, memory).view(head.leading)


class _SelectedLogProbs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, W, bias, head, index, budget, check):
        out = head.empty(head.rows, index.shape[1])
        head.run(budget, check, selected=index, picks=index.shape[1], selected_log_p=out)
        ctx.head, ctx.index, ctx.budget, ctx.shape = head, index, budget, h.shape
        ctx.types = (h.dtype, W.dtype, None if bias is None else bias.dtype)
        return out

    @staticmethod
    def backward(ctx, upstream):
        made = _gradients(ctx.head, ctx.needs_input_grad[:3], None)
        again = torch.empty_like(upstream, dtype=torch.float32)
        ctx.head.run(ctx.budget, selected=ctx.index, picks=ctx.index.shape[1], selected_log_p=again,
                     selected_gradient=upstream.detach().to(torch.float32).contiguous(), **made)
        return _returned(made, ctx.shape, ctx.types) + (None, None, None, None)


def selected_log_probs(h, W, index, bias=None, *, softcap=None, logit_scale=None, carrier=None, memory=_GIB, check=True):
    """log p of the classes index (..., m), or (...) for one each, with autograd."""
    head = _Head(h, W, bias, carrier, _options(logit_scale, softcap))
    is_single = index.shape == head.leading
    if not is_single and index.shape[:-1] != head.leading:
        raise ValueError(f"index is {tuple(index.shape)}; expected {tuple(head.leading)} or {tuple(head.leading)} and the number of classes each")
    rows = index.reshape(head.rows, 1 if is_single else index.shape[-1]).to(torch.int64).contiguous()
    return _SelectedLogProbs.apply(h, W, bias, head, rows, memory, check).view(index.shape)
