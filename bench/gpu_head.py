#!/usr/bin/env python3
"""The head of a large model on a GPU: loss with penalty and gradients, and log Z alone, beside the bare matrix products they
need and beside other people's ways (torch eager and compiled; CCE and Liger where they are installed). Medians of CUDA events
on random data, extra memory beside the gradients, ratios to the bare products; relative errors of the gradients against
float64. Usage: bench/gpu_head.py [--quick] [--sizes 0,1,2] [--no-compile]"""

import argparse
import pathlib
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from selfnorm import torch_gpu as ours  # noqa: E402

SIZES = [(8192, 4096, 131072), (8192, 2304, 256000), (4096, 768, 50304)]
ALPHA = 1e-4


def median_ms(work, repeats):
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        times.append((start, end))
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in times)


def extra_gib(work, beside):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before - beside) / 2**30


def data(n, d, K, dtype=torch.bfloat16):
    torch.manual_seed(0)
    h = torch.randn(n, d, device="cuda", dtype=torch.float32).to(dtype)
    W = (torch.randn(K, d, device="cuda", dtype=torch.float32) * (2 / d**0.5)).to(dtype)
    return h, W, torch.randint(K, (n,), device="cuda")


def eager_loss(h, W, t):
    s = (h @ W.T).float()
    lse = torch.logsumexp(s, -1)
    return (lse - s.gather(1, t[:, None]).squeeze(1)).mean() + ALPHA * (lse**2).mean()


def step(loss, h, W, t):
    def run():
        h.grad = W.grad = None
        loss(h, W, t).backward()
    return run


def peers(with_compile):
    found = {"torch eager": eager_loss}
    if with_compile:
        found["torch.compile"] = torch.compile(eager_loss)
    try:
        from cut_cross_entropy import linear_cross_entropy as cce
        found["CCE (without penalty)"] = lambda h, W, t: cce(h, W, t)
    except ImportError:
        print("CCE (cut_cross_entropy) is not installed: left out")
    try:
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss
        liger = LigerFusedLinearCrossEntropyLoss(lse_square_scale=ALPHA)
        found["Liger"] = lambda h, W, t: liger(W, h, t)
    except ImportError:
        print("Liger (liger_kernel) is not installed: left out")
    return found


def measure(n, d, K, repeats, with_compile):
    h, W, t = data(n, d, K)
    gradients = (n * d + K * d) * 2
    S = torch.empty(n, K, device="cuda", dtype=torch.bfloat16)
    S.normal_()
    S.mul_(1e-3)
    dH, dW, out = torch.empty_like(h), torch.empty_like(W), torch.empty_like(S)

    def products():
        torch.mm(h, W.T, out=out)
        torch.mm(S, W, out=dH)
        torch.mm(S.T, h, out=dW)
    floor = median_ms(products, repeats)
    one = median_ms(lambda: torch.mm(h, W.T, out=out), repeats)
    del S, dH, dW, out
    torch.cuda.empty_cache()
    print(f"\n{n} x {d} x {K}, bf16: loss, penalty {ALPHA}, dH, dW; three bare products {floor:.3f} ms")
    rows = []
    leaf_h, leaf_W = h.clone().requires_grad_(), W.clone().requires_grad_()

    def timed(name, loss):
        run = step(loss, leaf_h, leaf_W, t)
        time = median_ms(run, repeats)
        leaf_h.grad = leaf_W.grad = None
        rows.append((name, time, extra_gib(run, gradients)))
        leaf_h.grad = leaf_W.grad = None
        print(f"  {name:38} {rows[-1][1]:9.3f} ms  {rows[-1][1] / floor:6.3f} x  {rows[-1][2]:6.2f} GiB extra", flush=True)
    for gib in (1, 0.5, 0.25):
        timed(f"selfnorm, {gib} GiB of scores",
              lambda a, b, t: ours.linear_cross_entropy(a, b, t, z_loss=ALPHA, memory=int(gib * 2**30)))
    timed("selfnorm, 1 GiB, dW in float32",
          lambda a, b, t: ours.linear_cross_entropy(a, b, t, z_loss=ALPHA, acc_dtype=torch.float32))
    for name, loss in peers(with_compile).items():
        timed(name, loss)
    again = median_ms(step(lambda a, b, t: ours.linear_cross_entropy(a, b, t, z_loss=ALPHA), leaf_h, leaf_W, t), repeats)
    print(f"  selfnorm, 1 GiB of scores, once more     {again:6.3f} ms  {again / floor:6.3f} x")
    with torch.no_grad():
        alone = median_ms(lambda: ours.log_normalizer(h, W), repeats)
        torch_alone = median_ms(lambda: torch.logsumexp((h @ W.T).float(), -1), repeats)
    print(f"  log Z alone: {alone:.3f} ms, {alone / one:.3f} x one product ({one:.3f} ms); torch eager {torch_alone:.3f} ms")
    torch.cuda.empty_cache()


def errors(n=1024, d=1024, K=16384):
    """Relative errors of the gradients against float64."""
    print(f"\nrelative errors against float64, {n} x {d} x {K}")
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        h, W, t = data(n, d, K, dtype)
        exact = [x.double().requires_grad_() for x in (h, W)]
        s = exact[0] @ exact[1].T
        lse = torch.logsumexp(s, -1)
        loss = (lse - s.gather(1, t[:, None]).squeeze(1)).mean() + ALPHA * (lse**2).mean()
        loss.backward()
        for name, f in (("torch eager", eager_loss),
                        ("selfnorm", lambda a, b, t: ours.linear_cross_entropy(a, b, t, z_loss=ALPHA)),
                        ("selfnorm, 4 runs", lambda a, b, t: ours.linear_cross_entropy(a, b, t, z_loss=ALPHA, memory=n * K * dtype.itemsize // 4)),
                        ("selfnorm, 4 runs, dW float32", lambda a, b, t: ours.linear_cross_entropy(
                            a, b, t, z_loss=ALPHA, memory=n * K * dtype.itemsize // 4, acc_dtype=torch.float32))):
            a, b = h.clone().requires_grad_(), W.clone().requires_grad_()
            # as torch has it: a mean's small gradients underflow in float16, so the loss is scaled as users do
            value = f(a, b, t) * 1024
            value.backward()
            off = [((x.grad.double() / 1024 - y.grad).norm() / y.grad.norm()).item() for x, y in zip((a, b), exact)]
            print(f"  {str(dtype):15} {name:30} loss off by {abs(value.item() / 1024 - loss.item()):.2e}, dH {off[0]:.2e}, dW {off[1]:.2e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="0,1,2")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-compile", action="store_true")
    given = parser.parse_args()
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    errors()
    for i in given.sizes.split(","):
        measure(*SIZES[int(i)], 8 if given.quick else 20, not given.no_compile)


if __name__ == "__main__":
    main()
