#!/usr/bin/env python3
"""Changes one operator or constant of the numerical code at a time and asks the tests to notice.

mutants.py [COUNT, default 10] [SEED, default 0]. A mutant is killed when the tests of its rung, or else those of the rungs above, fail
or never end; one that does not compile is drawn again. Works in a worktree of HEAD, build/mutants. Exit 3 when a mutant survives: read it, it is
either equivalent (same function, other spelling) or a missing test.
"""
import random
import re
import subprocess
import sys
from pathlib import Path

ABOVE = {"math": ["math", "normalizer", "classifier"], "network": ["network", "density"], "proposal": ["proposal", "normalizer", "density"],
         "sampler": ["sampler", "normalizer", "density"], "normalizer": ["normalizer", "audit", "classifier", "density"],
         "objective": ["objective", "classifier", "density"], "audit": ["audit", "classifier"], "optim": ["optim", "classifier"]}
OPERATORS = [(r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "),
             (r" >= ", " > "), (r" \+= ", " -= "), (r" -= ", " += "), (r" && ", " || "), (r" \|\| ", " && "), (r"std::max\(", "std::min("),
             (r"std::min\(", "std::max("), (r"\b0\.5\b", "0.25"), (r"\b1\.0\b", "2.0"), (r"std::exp\(", "std::expm1("), (r"std::log1p\(", "std::log(")]


def candidates(tree):
    """(file, line number, column, length, replacement) of every change that can be made outside of comments, strings and includes."""
    for path in sorted(p for rung in ABOVE for p in (tree / "src" / rung).rglob("*.cc")):
        for number, line in enumerate(path.read_text().split("\n")):
            if line.lstrip().startswith(("//", "#", "*")) or '"' in line or "template" in line:
                continue
            code = line.split("//")[0]
            for pattern, replacement in OPERATORS:
                for match in re.finditer(pattern, code):
                    yield path, number, match.start(), match.end() - match.start(), replacement


def passes(tree, rung):
    """Whether the tests of a rung pass; None when the mutant does not compile."""
    if subprocess.run(["cmake", "--build", "--preset", "release", "--target", f"test_{rung}"], cwd=tree, capture_output=True).returncode:
        return None
    try:
        program = tree / "build/release/tests" / f"test_{rung}"
        return subprocess.run([program, "--gtest_fail_fast", "--gtest_brief=1"], cwd=tree, capture_output=True, timeout=900).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def verdict(tree, path):
    rung = path.relative_to(tree / "src").parts[0]
    for above in ABOVE[rung]:
        passed = passes(tree, above)
        if passed is None:
            return "does not compile"
        if not passed:
            return f"killed by test_{above}"
    return "SURVIVED"


def main():
    count, seed = (int(word) for word in (sys.argv[1:] + ["10", "0"][len(sys.argv) - 1:])[:2])
    root = Path(__file__).resolve().parent.parent
    tree = root / "build" / "mutants"
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", tree, "HEAD"], cwd=root, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True).strip()],
                   cwd=tree, check=True)
    subprocess.run(["cmake", "--preset", "release", "-DSELFNORM_BUILD_TESTS=ON"], cwd=tree, check=True, capture_output=True)
    for rung in sorted({above for tests in ABOVE.values() for above in tests}):
        if not passes(tree, rung):
            sys.exit(f"test_{rung} fails without any mutation: mend that first")
    drawn = list(candidates(tree))
    random.Random(seed).shuffle(drawn)
    judged = survivors = 0
    for path, number, column, length, replacement in drawn:
        if judged == count:
            break
        text = path.read_text()
        lines = text.split("\n")
        before = lines[number]
        lines[number] = before[:column] + replacement + before[column + length:]
        path.write_text("\n".join(lines))
        try:
            result = verdict(tree, path)
        finally:
            path.write_text(text)
        if result == "does not compile":
            continue
        judged += 1
        survivors += result == "SURVIVED"
        print(f"{result}: {path.relative_to(tree)}:{number + 1}\n  - {before.strip()}\n  + {lines[number].strip()}", flush=True)
    print(f"{judged - survivors} of {judged} mutants killed, {len(drawn):,} could be made (seed {seed})")
    sys.exit(3 if survivors else 0)


main()
