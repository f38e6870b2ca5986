#!/usr/bin/python3
"""Linear chains against CRFsuite 0.12 (bench/crfsuite.sh), on UD English EWT with selfnorm's own attributes.

    training   time to the same value of  (1/N) sum_i nll_i + l2/2 |theta|^2,  biases free: CRFsuite minimises
               sum_i nll_i + c2 |w|^2,  c2 = N l2/2, over the same features (all possible) and a bias attribute, for 100
               iterations; the value of its parameters, in double precision, is the target. L-BFGS with 10 corrections both
    tagging    the test data, tokens per second by Viterbi, with CRFsuite's parameters on both sides, so that the labels are
               the same: from the attribute file to labels on standard output, and from attributes that are read already
    gradient   one exact loss and gradient at 17, 49 and 300 labels, random sentences, the same parameters

CRFsuite is the peer because Debian's package `wapiti` is a web scanner and no other package has a CRF trainer. It has one
thread, so ratios are of one thread against one, in seconds of the processor, which other work on the machine does not
count in; two threads are measured by the wall clock. Setting up is not counted for CRFsuite (it looks up every possible
feature of every position), and counted for selfnorm. The two take turns where a measurement is short; ratios are of medians.
"""
import argparse, json, os, statistics, subprocess, sys

TARGET = 2.0
MEMORY = 10
BUDGET = 1e-6  # relative difference that two ways to the same number may have
# OpenBLAS, which no chain uses, would start threads whose waiting counts as processor time.
os.environ["OPENBLAS_NUM_THREADS"] = "1"


def output(command, stream="stdout"):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode not in (0, 2) or not getattr(done, stream):
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr[-500:]}")
    return getattr(done, stream)


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def agree(what, one, other):
    if abs(one - other) > BUDGET * abs(other):
        sys.exit(f"{what}: selfnorm {one}, CRFsuite {other}, expected the same number")


def report(what, ratio, met=True):
    print(f"  {what}: {ratio:.2f} x, target >= {TARGET:.2f}: {'MET' if met and ratio >= TARGET else 'MISSED'}")


def attribute_files(options, work):
    """Train and test, made once, and the name of the data."""
    names = [f"{work}/ewt-train.crf", f"{work}/ewt-test.crf"]
    texts = [f"{options.data}/ud-english-ewt/en_ewt-ud-{split}.conllu" for split in ("train", "test")]
    if all(map(os.path.exists, texts)):
        for text, name in zip(texts, names):
            subprocess.run([options.programs + "/bench_crf_data", "conllu", text, name], check=True)
        return names, "UD English EWT"
    print(f"  no {options.data}/ud-english-ewt: random sentences in its place")
    names = [f"{work}/random-train.crf", f"{work}/random-test.crf"]
    for sentences, name in zip((5000, 1000), names):
        subprocess.run([options.programs + "/bench_crf_data", "random", "17", "20000", str(sentences), name], check=True)
    return names, "random sentences, 17 labels"


def sentences_of(path):
    with open(path, encoding="utf-8") as file:
        return sum(line == "\n" for line in file)


def train(options, driver, work, file, name):
    """Trains CRFsuite, then selfnorm to the same loss; the paths of CRFsuite's model in both formats."""
    model, same = f"{work}/peer.model", f"{work}/peer.safetensors"
    c2 = sentences_of(file) * options.l2 / 2
    ours = [options.programs + "/bench_crf_train", file, repr(options.l2), MEMORY]
    lines = output([driver, "train", file, model, repr(c2), options.iterations, MEMORY]).split("\n")[:-1]
    steps = [tuple(map(float, line.split())) for line in lines]
    set_up, seconds, value = steps[0][1], steps[-1][1] - steps[0][1], steps[-1][2]
    one = [json.loads(output(ours + [1, model + ".txt", same])) for _ in range(options.rounds)]
    two = [json.loads(output(ours + [2, model + ".txt"])) for _ in range(options.rounds)]
    agree("the objective of CRFsuite's parameters", one[0]["peer_value"], value)
    agree("the loss in single precision", one[0]["loss_double"], one[0]["loss"])
    spent = median(one, "processor")
    print(f"  training, {name}, {one[0]['parameters']:,} parameters, to the loss {one[0]['target']:.6f}: selfnorm {spent:.2f} s "
          f"({one[0]['iterations']} iterations), CRFsuite {seconds:.2f} s ({len(steps) - 1})")
    report("training, one thread each", seconds / spent, all(row["met"] for row in one))
    print(f"    the same in {median(two, 'seconds'):.2f} s with two threads; setting up CRFsuite {set_up:.1f} s more, selfnorm "
          f"within; reading the file {one[0]['reading']:.2f} s; an iteration {1e3 * spent / one[0]['iterations']:.0f} ms against "
          f"{1e3 * seconds / (len(steps) - 1):.0f} ms")
    return model, same


def tag(options, driver, models, file):
    model, same = models
    rows = {"tag": ([], []), "stream": ([], [])}
    for _ in range(2 * options.rounds + 1):
        for kind, extra in (("tag", []), ("stream", ["stream"])):
            mine, theirs = rows[kind]
            theirs.append(json.loads(output([driver, "tag-stream" if extra else "tag", model, file], "stderr")))
            mine.append(json.loads(output([options.programs + "/bench_crf_tag", same, file] + extra, "stderr")))
    for kind, text in (("stream", "from the attribute file to the labels"), ("tag", "from attributes already read")):
        mine, theirs = rows[kind]
        if abs(mine[0]["right"] - theirs[0]["right"]) > 1e-4 * mine[0]["tokens"]:  # ties of scores may be broken otherwise
            sys.exit(f"right labels: selfnorm {mine[0]['right']}, CRFsuite {theirs[0]['right']}, expected the same")
        speed = [row[0]["tokens"] / median(row, "label") for row in (mine, theirs)]
        print(f"  tagging {text}: selfnorm {speed[0]:,.0f} tokens/s, CRFsuite {speed[1]:,.0f} "
              f"({mine[0]['right'] / mine[0]['tokens']:.4f} right; opening the model {1e3 * median(mine, 'open'):.0f} ms against "
              f"{1e3 * median(theirs, 'open'):.0f} ms, not counted)")
        report("tagging, one thread each", speed[0] / speed[1])


def gradients(options, driver, work):
    for labels in (17, 49, 300):
        file = f"{work}/random-{labels}.crf"
        subprocess.run([options.programs + "/bench_crf_data", "random", str(labels), "2000", "500", file], check=True)
        program = options.programs + "/bench_crf_gradient"
        mine, two, theirs = [], [], []
        for _ in range(options.rounds):
            lines = lambda command: [json.loads(line) for line in output(command).splitlines()]
            theirs += lines([driver, "gradient", file, 2])
            mine += lines([program, file, 6, 1])[1:]  # the first finds memory cold
            two += lines([program, file, 6, 2])[1:]
        agree(f"the loss at {labels} labels", mine[0]["value"], theirs[0]["value"])
        spent, pairs = median(mine, "processor"), mine[0]["tokens"] * labels * labels
        print(f"  exact loss and gradient, {labels} labels, {mine[0]['tokens']:,} tokens: selfnorm {1e3 * spent:.2f} ms "
              f"({1e9 * spent / pairs:.3f} ns per token and pair of labels), CRFsuite {1e3 * median(theirs, 'seconds'):.2f} ms; "
              f"two threads {min(r['seconds'] for r in mine) / min(r['seconds'] for r in two):.2f} x as fast as one")
        report(f"gradient, {labels} labels, one thread each", median(theirs, "seconds") / spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="folder that has ud-english-ewt")
    parser.add_argument("--programs", default="build/bench/bench")
    parser.add_argument("--work", default="build/bench/crf", help="where CRFsuite is built and files are made")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=100, help="of CRFsuite")
    parser.add_argument("--l2", type=float, default=1e-4)
    options = parser.parse_args()
    os.makedirs(options.work, exist_ok=True)
    peer = f"{options.work}/crfsuite"
    if subprocess.run([os.path.dirname(os.path.abspath(__file__)) + "/crfsuite.sh", peer]).returncode != 0:
        return 0
    driver = peer + "/crfsuite_driver"
    gradients(options, driver, options.work)
    (training, test), name = attribute_files(options, options.work)
    models = train(options, driver, options.work, training, name)
    tag(options, driver, models, test)
    return 0


if __name__ == "__main__":
    sys.exit(main())
