#!/usr/bin/env python3
"""selfnorm.torch_gpu against torch in float64, on a GPU: values, gradients, shapes, reductions, errors, CUDA graphs. Run by
`make gpu-test` where torch is installed."""

import itertools
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "python"))
from selfnorm import torch_gpu as ours  # noqa: E402

TOLERANCE = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
failures = 0


def check(name, holds, words=""):
    global failures
    if not holds:
        failures += 1
        print(f"FAILED  {name} {words}")


def close(name, got, wanted, tolerance):
    wanted = wanted.double()
    error = ((got.double() - wanted).norm() / wanted.norm().clamp_min(1e-3)).item()
    check(name, error <= tolerance, f"relative error {error:.2e}, at most {tolerance:.0e}")


def scores(h, W, b, softcap, scale):
    s = h @ W.T
    if b is not None:
        s = s + b
    if scale is not None:
        s = s * scale
    return s if softcap is None else softcap * torch.tanh(s / softcap)


def reference(h, W, t, b, z_loss, softcap, scale, smoothing, weight, reduction, ignore=-100):
    s = scores(h, W, b, softcap, scale)
    lse = torch.logsumexp(s, -1)
    valid = t != ignore
    picked = s.gather(-1, t.clamp_min(0)[..., None]).squeeze(-1)
    rows = (1 - smoothing) * (lse - picked) + smoothing * (lse - s.mean(-1)) + z_loss * lse**2
    w = valid.double() if weight is None else valid.double() * weight.double()
    rows = rows * w
    if reduction == "none":
        return rows
    return rows.sum() / (w.sum() if reduction == "mean" else 1)


def losses():
    n, d, K = 96, 64, 1003
    grid = itertools.product(TOLERANCE, ("mean", "sum", "none"), (False, True), (None, 5.0), (0.0, 1e-2), (0.0, 0.1), (False, True))
    count = 0
    for dtype, reduction, has_bias, softcap, z_loss, smoothing, is_cut in grid:
        torch.manual_seed(count)
        count += 1
        h = torch.randn(4, n // 4, d, device="cuda").to(dtype)
        W = (torch.randn(K, d, device="cuda") * 0.2).to(dtype)
        b = torch.randn(K, device="cuda").to(dtype) if has_bias else None
        t = torch.randint(K, (4, n // 4), device="cuda")
        t[0, ::3] = -100
        weight = torch.rand(4, n // 4, device="cuda") + 0.5 if count % 2 else None
        scale = 0.8 if count % 3 == 0 else None
        leaves = [x.clone().requires_grad_() for x in (h, W)] + ([b.clone().requires_grad_()] if has_bias else [])
        exact = [x.double().detach().requires_grad_() for x in leaves]
        value = ours.linear_cross_entropy(leaves[0], leaves[1], t, bias=leaves[2] if has_bias else None, z_loss=z_loss, softcap=softcap,
                                          logit_scale=scale, label_smoothing=smoothing, token_weight=weight, reduction=reduction,
                                          memory=30 * 1024 * dtype.itemsize if is_cut else 1 << 30)
        wanted = reference(exact[0], exact[1], t, exact[2] if has_bias else None, z_loss, softcap, scale, smoothing, weight, reduction)
        name = f"{dtype} {reduction} bias {has_bias} softcap {softcap} z {z_loss} smoothing {smoothing} cut {is_cut}"
        check(name + ": shape", value.shape == wanted.shape)
        close(name + ": value", value, wanted, TOLERANCE[dtype] / 4)
        upstream = torch.randn_like(wanted)
        value.backward(upstream.to(value.dtype))
        wanted.backward(upstream)
        for what, a, e in zip(("dH", "dW", "db"), leaves, exact):
            close(f"{name}: {what}", a.grad, e.grad, TOLERANCE[dtype])
    print(f"{count} losses")


def others():
    for dtype, tolerance in TOLERANCE.items():
        torch.manual_seed(1)
        h, W = torch.randn(33, 64, device="cuda").to(dtype), (torch.randn(777, 64, device="cuda") * 0.2).to(dtype)
        b = torch.randn(777, device="cuda").to(dtype)
        index = torch.randint(777, (33, 5), device="cuda")
        leaves, exact = [x.clone().requires_grad_() for x in (h, W, b)], [x.double().requires_grad_() for x in (h, W, b)]
        value = ours.log_normalizer(*leaves)
        wanted = torch.logsumexp(scores(*exact, None, None), -1)
        close(f"{dtype} log_normalizer", value, wanted, tolerance / 4)
        upstream = torch.randn_like(wanted)
        value.backward(upstream.float())
        wanted.backward(upstream)
        for a, e in zip(leaves, exact):
            close(f"{dtype} log_normalizer gradient", a.grad, e.grad, tolerance)
            a.grad = e.grad = None
        value = ours.selected_log_probs(leaves[0], leaves[1], index, leaves[2])
        wanted = torch.log_softmax(scores(*exact, None, None), -1).gather(1, index)
        close(f"{dtype} selected_log_probs", value, wanted, tolerance / 4)
        upstream = torch.randn_like(wanted)
        value.backward(upstream.float())
        wanted.backward(upstream)
        for a, e in zip(leaves, exact):
            close(f"{dtype} selected_log_probs gradient", a.grad, e.grad, tolerance)


def errors():
    h, W = torch.randn(8, 16, device="cuda"), torch.randn(20, 16, device="cuda")
    t = torch.randint(20, (8,), device="cuda")
    cases = [(IndexError, lambda: ours.linear_cross_entropy(h, W, torch.where(t == t, 20, t))),
             (IndexError, lambda: ours.linear_cross_entropy(h, W, torch.full_like(t, -1))),
             (IndexError, lambda: ours.selected_log_probs(h, W, torch.full_like(t, 20))),
             (TypeError, lambda: ours.linear_cross_entropy(h.bfloat16(), W, t)),
             (ValueError, lambda: ours.linear_cross_entropy(h.cpu(), W.cpu(), t.cpu())),
             (ValueError, lambda: ours.linear_cross_entropy(h, W[:, :8], t)),
             (ValueError, lambda: ours.linear_cross_entropy(h, W, t[:4])),
             (ValueError, lambda: ours.linear_cross_entropy(h, W, t, reduction="average"))]
    for i, (kind, call) in enumerate(cases):
        try:
            call()
            check(f"error {i}", False, "nothing was raised")
        except kind as error:
            print(f"{kind.__name__}: {error}")
    W_leaf = W.clone().requires_grad_()
    loss = ours.linear_cross_entropy(h, W_leaf, torch.full_like(t, -100), z_loss=1.0)
    loss.backward()
    check("all ignored", loss.item() == 0 and W_leaf.grad.abs().max().item() == 0)


def graph():
    torch.manual_seed(2)
    h = torch.randn(256, 128, device="cuda").bfloat16().requires_grad_()
    W = (torch.randn(5000, 128, device="cuda") * 0.1).bfloat16().requires_grad_()
    t = torch.randint(5000, (256,), device="cuda")

    def step():
        h.grad = W.grad = None
        loss = ours.linear_cross_entropy(h, W, t, z_loss=1e-3)
        loss.backward()
        return loss
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    eager, dW = step().item(), W.grad.clone()
    h.grad = W.grad = None
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        loss = step()
    captured.replay()
    torch.cuda.synchronize()
    check("CUDA graph: loss", loss.item() == eager, f"{loss.item()} and {eager}")
    check("CUDA graph: dW, the same bits", torch.equal(W.grad, dW))


losses()
others()
errors()
graph()
print(f"torch: {failures} failed")
sys.exit(1 if failures else 0)
