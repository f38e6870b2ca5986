#!/usr/bin/python3
"""The training step of a density by snl against the same step in PyTorch (Debian package python3-torch).

A step: 1,024 points from a diagonal Gaussian, a minibatch of data, scores of both by a SiLU network, weights
exp(s - log q - b) / M, gradient, Adam (bench/density_step.cc has ours). PyTorch runs eagerly and traced by torch.jit, with
one and with all threads, with its multi-tensor Adam; its best counts. Both sides alternate, so a busy machine hurts both.

    bench/density_step.py --program build/bench/bench/bench_density_step
"""
import argparse, os, subprocess, sys, time

try:
    import torch
except ImportError:
    torch = None

SAMPLES, DATA, LAST, RATE = 1024, 10_000, 200, 1e-3
TARGET = 2.0


class Network(torch.nn.Module if torch else object):
    def __init__(self, widths, fourier):
        super().__init__()
        self.frequencies = torch.nn.Parameter(3 * torch.randn(fourier, 2)) if fourier else None
        sizes = [2 + 2 * fourier, *widths]
        layers = []
        for before, after in zip(sizes, sizes[1:]):  # started as src/model/energy/mlp.h says
            layers += [torch.nn.Linear(before, after), torch.nn.SiLU()]
            torch.nn.init.kaiming_normal_(layers[-2].weight, nonlinearity="relu")
            torch.nn.init.zeros_(layers[-2].bias)
        self.layers = torch.nn.Sequential(*layers, torch.nn.Linear(sizes[-1], 1, bias=False))
        torch.nn.init.normal_(self.layers[-1].weight, std=0.1 / sizes[-1] ** 0.5)

    def forward(self, x):
        if self.frequencies is not None:
            phase = x @ self.frequencies.T
            x = torch.cat([x, torch.cos(phase), torch.sin(phase)], 1)
        return self.layers(x).squeeze(1)


def clusters():
    x = 0.5 * torch.randn(DATA, 2)
    x[::2, 0] += 1.5
    x[1::2, 0] -= 1.5
    return x


def pytorch(widths, fourier, batch, steps, threads, traced):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    network, data = Network(widths, fourier), clusters()
    b = torch.nn.Parameter(torch.zeros(()))
    optimiser = torch.optim.Adam([*network.parameters(), b], lr=RATE, foreach=True)
    scores = torch.jit.trace(network, torch.randn(batch + SAMPLES, 2)) if traced else network
    log_2pi_variance = 1.8378770664093453 + 2 * 0.6931471805599453  # of N(0, 4), twice

    def step():
        x = data[torch.randint(DATA, (batch,))]
        z = torch.randn(SAMPLES, 2)
        log_q = -0.5 * (z * z).sum(1) - log_2pi_variance
        s = scores(torch.cat([x, 2 * z]))
        objective = s[:batch].mean() - b - torch.exp(s[batch:] - log_q - b).mean() + 1
        optimiser.zero_grad(set_to_none=True)
        (-objective).backward()
        optimiser.step()
        return objective.detach()

    total = torch.zeros(())
    for _ in range(20):
        step()
    start = time.time()
    for i in range(steps):
        value = step()
        if i + LAST >= steps:
            total += value
    return steps / (time.time() - start), float(total) / LAST


def ours(program, widths, fourier, batch, steps, threads):
    words = [program, ",".join(map(str, widths)), str(fourier), str(batch), str(steps), str(threads)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return tuple(map(float, done.stdout.split()))


def compare(program, widths, fourier, batch, steps, rounds, target):
    cores = os.cpu_count()
    name = f"2-{f'({fourier} Fourier)-' if fourier else ''}{'-'.join(map(str, widths))}-1, {batch} + {SAMPLES:,} points"
    own, theirs = (0.0, 0.0), {}
    for _ in range(rounds):
        own = max(own, ours(program, widths, fourier, batch, steps, cores))
        for threads in sorted({1, 2, cores}):
            for traced in (False, True):
                key = f"{threads} thread{'s' if threads > 1 else ''}{', traced' if traced else ''}"
                theirs[key] = max(theirs.get(key, (0.0, 0.0)), pytorch(widths, fourier, batch, steps, threads, traced))
    best = max(theirs, key=theirs.get)
    ratio = own[0] / theirs[best][0]
    print(f"  {name}: PyTorch " + "; ".join(f"{rate[0]:.0f} steps/s ({key})" for key, rate in theirs.items()))
    verdict = f" (target >= {target:g}) {'MET' if ratio >= target else 'MISSED'}" if target else ""
    print(f"  {name}: selfnorm {own[0]:.0f} steps/s, {ratio:.2f} x PyTorch's best{verdict}; "
          f"objective after {steps} steps {own[1]:.3f} and {theirs[best][1]:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bench/bench/bench_density_step")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if torch is None:
        print("  skipped: no module torch (Debian: python3-torch)")
        return
    compare(given.program, [128, 128], 0, 256, 600, given.rounds, TARGET)
    compare(given.program, [256, 256], 64, 512, 250, given.rounds, None)


if __name__ == "__main__":
    main()
