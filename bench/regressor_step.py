#!/usr/bin/python3
"""The training step of a regressor by snl against the same step in PyTorch (Debian package python3-torch).

A step: 128 rows of 8 numbers, features 64-64, a mixture of 8 normals, 16 draws a row from it and its broad component,
scores f + log q_w of targets and draws by a tilt 48-48, b by a layer of 32, the objective s - b - mean exp(s - log q - b)
+ 1 and the likelihood of the mixture, gradient, Adam (bench/regressor_step.cc has ours). PyTorch runs eagerly and traced
by torch.jit, with one and with all threads, with its multi-tensor Adam; its best counts. Both sides alternate, so a busy
machine hurts both.

    bench/regressor_step.py --program build/bench/bench/bench_regressor_step
"""
import argparse, math, os, subprocess, sys, time

try:
    import torch
except ImportError:
    torch = None

ROWS, INPUTS, BATCH, STEPS, LAST, RATE = 12_800, 8, 128, 600, 200, 1e-3
FEATURES, JOINT, NORMALIZER, COMPONENTS, SAMPLES = 64, 48, 32, 8, 16
TAIL, DEFENCE, LEAST_SCALE, LOG_ROOT_2PI = 0.01, 0.1, 1e-3, 0.9189385332046727


def data():
    """As bench/regression_data.h says, standardised."""
    x = torch.randn(ROWS, INPUTS)
    sign = torch.randint(2, (ROWS,)) * 2 - 1
    y = (torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] / 2 + 0.8 * sign * (x[:, 3] > 0)
         + 0.3 * torch.exp(x[:, 4] / 2) * torch.randn(ROWS))
    return (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()


def linear(before, after, scale, bias_scale=0.0):
    layer = torch.nn.Linear(before, after)
    torch.nn.init.normal_(layer.weight, std=scale / before ** 0.5)
    torch.nn.init.normal_(layer.bias, std=bias_scale / before ** 0.5)
    return layer


def broaden(log_q, log_g, weight):
    return torch.logaddexp(log_q + math.log1p(-weight), log_g + math.log(weight))


class Step(torch.nn.Module if torch else object):
    """(objective, what Adam minimises) of a minibatch; started as src/model/network/dense_network.h and
    family/regressor/train/regressor_problem.h say."""

    def __init__(self, y):
        super().__init__()
        silu, root2 = torch.nn.SiLU(), 2 ** 0.5
        self.features = torch.nn.Sequential(linear(INPUTS, FEATURES, root2, root2), silu,
                                            linear(FEATURES, FEATURES, root2), silu)
        self.mixture = linear(FEATURES, 3 * COMPONENTS, 0.1)
        self.context = linear(FEATURES, JOINT, 1)
        self.tilt_input = linear(1, JOINT, 3)
        self.tilt = torch.nn.Sequential(silu, linear(JOINT, JOINT, root2), silu, torch.nn.Linear(JOINT, 1, bias=False))
        self.normalizer = torch.nn.Sequential(linear(FEATURES, NORMALIZER, root2, root2), silu, linear(NORMALIZER, 1, 0))
        torch.nn.init.zeros_(self.tilt[-1].weight)
        self.broad_scale = max(3.0, float(y.abs().max()) / 2)
        with torch.no_grad():
            bend = 4 * torch.rand(JOINT) - 2
            self.tilt_input.bias.copy_(-self.tilt_input.weight.squeeze(1) * bend)
            cells = y.sort().values.reshape(COMPONENTS, -1)
            self.mixture.bias[COMPONENTS:2 * COMPONENTS] = cells.mean(1)
            self.mixture.bias[2 * COMPONENTS:] = torch.log(torch.expm1(1.5 * cells.std(1) - LEAST_SCALE))

    def draws(self, log_weight, mean, scale):
        n = mean.shape[0]
        cumulative = torch.cumsum((1 - DEFENCE) * torch.exp(log_weight), 1)
        component = torch.searchsorted(cumulative, torch.rand(n, SAMPLES))
        broad = torch.zeros(n, 1)
        means = torch.cat([mean, broad], 1).gather(1, component)
        scales = torch.cat([scale, broad + self.broad_scale], 1).gather(1, component)
        return means + scales * torch.randn(n, SAMPLES)

    def forward(self, x, target):
        h = self.features(x)
        logit, mean, raw = self.mixture(h).split(COMPONENTS, 1)
        log_weight, scale = torch.log_softmax(logit, 1), LEAST_SCALE + torch.nn.functional.softplus(raw)
        y = torch.cat([target.unsqueeze(1), self.draws(log_weight.detach(), mean.detach(), scale.detach())], 1)
        z = (y.unsqueeze(2) - mean.unsqueeze(1)) / scale.unsqueeze(1)
        log_q = torch.logsumexp((log_weight - torch.log(scale)).unsqueeze(1) - 0.5 * z * z, 2) - LOG_ROOT_2PI
        log_g = -0.5 * (y / self.broad_scale) ** 2 - math.log(self.broad_scale) - LOG_ROOT_2PI
        base = broaden(log_q, log_g, TAIL)
        s = self.tilt(self.tilt_input(y.unsqueeze(2)) + self.context(h).unsqueeze(1)).squeeze(2) + base
        b = self.normalizer(h.detach())
        log_proposal = broaden(log_q.detach(), log_g, DEFENCE)[:, 1:]
        objective = (s[:, :1] - b).mean() - torch.exp(s[:, 1:] - log_proposal - b).mean() + 1
        return objective, -objective - base[:, 0].mean()


def pytorch(steps, threads, traced):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    x, y = data()
    step = Step(y)
    optimiser = torch.optim.Adam(step.parameters(), lr=RATE, foreach=True)
    terms = torch.jit.trace(step, (x[:BATCH], y[:BATCH]), check_trace=False) if traced else step

    def move():
        rows = torch.randint(ROWS, (BATCH,))
        objective, loss = terms(x[rows], y[rows])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        return objective.detach()

    total = torch.zeros(())
    for _ in range(20):
        move()
    start = time.time()
    for i in range(steps):
        value = move()
        if i + LAST >= steps:
            total += value
    return steps / (time.time() - start), float(total) / LAST


def ours(program, steps, threads):
    words = [program, str(steps), str(threads)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    rate, loss = map(float, done.stdout.split())
    return rate, -loss


def threads_name(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


def compare(program, steps, rounds):
    own, theirs = {}, {}
    for _ in range(rounds):
        for threads in sorted({1, 2, os.cpu_count()}):
            key = threads_name(threads)
            own[key] = max(own.get(key, (0.0, 0.0)), ours(program, steps, threads))
            for traced in (False, True):
                name = key + (", traced" if traced else "")
                theirs[name] = max(theirs.get(name, (0.0, 0.0)), pytorch(steps, threads, traced))
    best, best_own = max(theirs, key=theirs.get), max(own, key=own.get)
    single = max(theirs[name] for name in theirs if name.startswith("1 thread"))
    shape = f"{INPUTS}-{FEATURES}-{FEATURES}, tilt {JOINT}-{JOINT}, {BATCH} x (1 + {SAMPLES}) points"
    for who, rates in (("PyTorch", theirs), ("selfnorm", own)):
        print(f"  {shape}: {who} " + "; ".join(f"{rate[0]:.0f} steps/s ({key})" for key, rate in rates.items()))
    print(f"  {shape}: selfnorm {own[best_own][0]:.0f} steps/s, {own[best_own][0] / theirs[best][0]:.2f} x PyTorch's best; "
          f"one thread each {own['1 thread'][0] / single[0]:.2f} x; "
          f"objective after {steps} steps {own[best_own][1]:.3f} and {theirs[best][1]:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/bench/bench/bench_regressor_step")
    parser.add_argument("--steps", type=int, default=STEPS, help="in hundreds, at least 200")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if torch is None:
        print("  skipped: no module torch (Debian: python3-torch)")
        return
    compare(given.program, given.steps, given.rounds)


if __name__ == "__main__":
    main()
