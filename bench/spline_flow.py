#!/usr/bin/python3
"""`selfnorm train density` by default against a neural spline flow in PyTorch (Debian package python3-torch).

The flow is the autoregressive one of Durkan, Bekasov, Murray and Papamakarios (Neural Spline Flows, 2019): masked
networks of two hidden layers give, for every column, the monotone rational-quadratic spline of its standardised value;
the order of the columns turns from one transformation to the next; a standard normal is its base. Its width is the one
of --widths whose parameters are nearest to the numbers in the file of selfnorm's model. Both train on the same rows and
look at the same held-out rows: the flow stops when those have not become likelier in --patience epochs and keeps the
best. NLL of the test rows in nats and the units of the data, with its standard error, and that of the difference.

    bench/spline_flow.py SELFNORM DATA     DATA: the folder of uci-regression and letter
    bench/spline_flow.py SELFNORM DATA --tables kin8nm --rows 2000
"""
import argparse
import json
import math
import pathlib
import random
import re
import subprocess
import tempfile
import time

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

BINS, REACH, LEAST = 8, 4.0, 1e-3  # of a spline: bins, on [-REACH, REACH], smallest width, height and slope
LAYERS, BATCH, RATE = 4, 256, 1e-3

# name: file, whether the first column is left out (the letter), width of the noise of all columns
TABLES = {
    "kin8nm": ("uci-regression/kin8nm/data.txt", False, 0),
    "protein": ("uci-regression/protein-tertiary-structure/data.txt", False, 0),
    "letter": ("letter/letter-recognition.data", True, 1),
    "power-plant": ("uci-regression/power-plant/data.txt", False, 0),
}


def read(data, name, rows):
    file, skips, noise = TABLES[name]
    lines = (pathlib.Path(data) / file).read_text().split("\n")
    cells = [re.split(r"[,\s]+", line.strip())[1 if skips else 0 :] for line in lines if line.strip()]
    source = random.Random(0)
    table = [[float(v) + noise * source.random() for v in row] for row in cells]
    source.shuffle(table)
    table = table[:rows]
    tenth = len(table) // 10
    return table[2 * tenth :], table[tenth : 2 * tenth], table[:tenth]


def spline(x, raw):
    """log-derivative and image of x under the spline of raw (..., 3 BINS - 1); the identity beyond REACH."""
    widths = LEAST + (1 - LEAST * BINS) * functional.softmax(raw[..., :BINS], -1)
    heights = LEAST + (1 - LEAST * BINS) * functional.softmax(raw[..., BINS : 2 * BINS], -1)
    slopes = LEAST + functional.softplus(raw[..., 2 * BINS :] + math.log(math.exp(1 - LEAST) - 1))
    slopes = functional.pad(slopes, (1, 1), value=1.0)
    at_x = functional.pad(2 * REACH * torch.cumsum(widths, -1), (1, 0)) - REACH
    at_y = functional.pad(2 * REACH * torch.cumsum(heights, -1), (1, 0)) - REACH
    inside = (x > -REACH) & (x < REACH)
    held = x.clamp(-REACH + 1e-6, REACH - 1e-6).unsqueeze(-1)
    cell = (torch.searchsorted(at_x.detach().contiguous(), held.detach(), right=True) - 1).clamp(0, BINS - 1)
    pick = lambda values: values.gather(-1, cell).squeeze(-1)
    x0, y0, width, height = pick(at_x), pick(at_y), 2 * REACH * pick(widths), 2 * REACH * pick(heights)
    left, right, steep = pick(slopes[..., :-1]), pick(slopes[..., 1:]), height / width
    t = ((held.squeeze(-1) - x0) / width).clamp(0, 1)
    both = t * (1 - t)
    below = steep + (left + right - 2 * steep) * both
    y = y0 + height * (steep * t * t + left * both) / below
    slope = steep * steep * (right * t * t + 2 * steep * both + left * (1 - t) ** 2) / (below * below)
    return torch.where(inside, y, x), torch.where(inside, slope.log(), torch.zeros_like(x))


class Masked(torch.nn.Linear if torch else object):
    def __init__(self, mask):
        super().__init__(mask.shape[1], mask.shape[0])
        self.register_buffer("mask", mask)

    def forward(self, x):
        return functional.linear(x, self.weight * self.mask, self.bias)


class Flow(torch.nn.Module if torch else object):
    def __init__(self, columns, width):
        super().__init__()
        self.columns, each = columns, 3 * BINS - 1
        place = torch.arange(1, columns + 1)
        unit = torch.arange(width) % max(1, columns - 1) + 1 if columns > 1 else torch.zeros(width)
        self.networks = torch.nn.ModuleList()
        for _ in range(LAYERS):
            masks = [
                (unit[:, None] >= place[None, :]).float(),
                (unit[:, None] >= unit[None, :]).float(),
                (place.repeat_interleave(each)[:, None] > unit[None, :]).float(),
            ]
            layers = [Masked(mask) for mask in masks]
            torch.nn.init.zeros_(layers[-1].weight)
            torch.nn.init.zeros_(layers[-1].bias)
            self.networks.append(
                torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
            )

    def forward(self, x):
        log_p = torch.zeros(x.shape[0])
        for network in self.networks:
            x, log_slope = spline(x, network(x).view(x.shape[0], self.columns, -1))
            log_p = log_p + log_slope.sum(-1)
            x = x.flip(-1)
        return log_p - 0.5 * (x * x).sum(-1) - 0.5 * self.columns * math.log(2 * math.pi)


def parameters_of(flow):
    """Those that a mask leaves."""
    masks = sum(int(layer.mask.sum()) for layer in flow.modules() if isinstance(layer, Masked))
    return masks + sum(layer.bias.numel() for layer in flow.modules() if isinstance(layer, Masked))


def train_flow(tables, size, given):
    torch.manual_seed(0)
    torch.set_num_threads(given.threads)
    train, valid, test = (torch.tensor(t, dtype=torch.float64) for t in tables)
    mean, scale = train.mean(0), train.std(0)
    train, valid, test = (((t - mean) / scale).float() for t in (train, valid, test))
    columns = train.shape[1]
    widths = [int(w) for w in given.widths.split(",")]
    width = min(widths, key=lambda w: abs(math.log(parameters_of(Flow(columns, w)) / size)))
    flow = Flow(columns, width)
    optimiser = torch.optim.Adam(flow.parameters(), lr=RATE)
    began, best, stale, epochs, kept = time.monotonic(), math.inf, 0, 0, None
    while stale < given.patience and time.monotonic() - began < given.seconds:
        for part in torch.randperm(train.shape[0]).split(BATCH):
            optimiser.zero_grad(set_to_none=True)
            loss = -flow(train[part]).mean()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
            optimiser.step()
        with torch.no_grad():
            now = -torch.cat([flow(p) for p in valid.split(4096)]).mean().item()
        epochs, stale = epochs + 1, stale + 1
        if now < best:
            best, stale, kept = now, 0, {k: v.clone() for k, v in flow.state_dict().items()}
    flow.load_state_dict(kept)
    with torch.no_grad():
        log_p = torch.cat([flow(p) for p in test.split(4096)]).double() - scale.log().sum()
    ended = "stopped" if stale >= given.patience else f"out of its {given.seconds:.0f} s"
    words = f"{LAYERS} transformations of width {width}, {parameters_of(flow):,} parameters, {epochs} epochs, {ended}"
    return log_p.tolist(), time.monotonic() - began, words


def call(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    return done.stdout


def train_selfnorm(tables, folder, given):
    names = [f"x{i}" for i in range(len(tables[0][0]))]
    files = []
    for kind, rows in zip(("train", "valid", "test"), tables):
        files.append(folder / f"{kind}.csv")
        lines = [",".join(names)] + [",".join(f"{v:.9g}" for v in row) for row in rows]
        files[-1].write_text("\n".join(lines) + "\n")
    began, model = time.monotonic(), folder / "model"
    call(given.program, "train", "density", files[0], "--valid", files[1], "--out", model, "--no-report", "--quiet",
         "--threads", given.threads)
    seconds = time.monotonic() - began
    judged = json.loads(call(given.program, "evaluate", model, files[2], "--json"))
    size = (model / "model.safetensors").stat().st_size // 4
    return judged, seconds, size


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--rows", type=int, default=10_000, help="of a table, at most: 8/10 train, 1/10 held out, 1/10 test")
    parser.add_argument("--widths", default="32,64,128,256")
    parser.add_argument("--patience", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=600, help="of a flow, at most")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if torch is None:
        print("  python3-torch is not installed: skipped")
        return
    for name in given.tables.split(","):
        tables = read(given.data, name, given.rows)
        with tempfile.TemporaryDirectory() as folder:
            judged, seconds, size = train_selfnorm(tables, pathlib.Path(folder), given)
        log_p, flow_seconds, words = train_flow(tables, size, given)
        nll = -sum(log_p) / len(log_p)
        error = (sum((v + nll) ** 2 for v in log_p) / (len(log_p) - 1) / len(log_p)) ** 0.5
        print(f"  {name} ({len(tables[0])} rows to train on, {len(tables[0][0])} columns): selfnorm "
              f"{judged['nll']:.4f} +- {judged['nll_error']:.4f} in {seconds:.0f} s ({size:,} numbers in its file); "
              f"spline flow {nll:.4f} +- {error:.4f} in {flow_seconds:.0f} s ({words})")
        print(f"    difference {judged['nll'] - nll:+.4f} nats (negative: selfnorm is ahead), "
              f"{flow_seconds / seconds:.2f} times its time: {'MET' if judged['nll'] < nll else 'MISSED'}", flush=True)


main()
