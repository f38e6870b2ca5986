#!/usr/bin/env bash
# The suite under the Python of this machine: run.sh DEPS.tar.xz [PAGE.html] builds the extension for it, and the program (build.py), and runs everything.
set -uo pipefail
root="$(cd "$(dirname "$0")/../../.." && pwd)"; work="$(mktemp -d)"
tar xJf "$1" -C "$work"
start=$SECONDS; failed=0
python3 "$root/tests/python/device/build.py" "$work/deps" "$work/package" ${2:+"$2"} || exit 1
echo "built in $((SECONDS - start)) s"
export PYTHONPATH="$work/package" PYTHONDONTWRITEBYTECODE=1 SELFNORM_PROGRAM="$work/package/bin/selfnorm"
python3 -c "import sys, numpy, sklearn, torch, selfnorm; print('Python', sys.version.split()[0], 'numpy', numpy.__version__, 'scikit-learn', sklearn.__version__, 'torch', torch.__version__)" || exit 1
python3 "$root/tests/python/device/transformers_layouts.py" 2>&1 | { grep -v -i "warning\|it/s\|FutureWarn" || true; } || failed=1
cd "$root" || exit 1
if python3 -c "import pytest" 2> /dev/null; then
  timeout 240 python3 -m pytest -q -rfs --maxfail=15 -p no:cacheprovider -W ignore tests/python/test_{estimators,training,heads,examples}.py 2>&1 | tail -60 || failed=1
else
  echo "pytest is not installed: scikit-learn's checks and the examples alone"
  timeout 200 python3 -W ignore tests/python/device/contract.py || failed=1
  for example in examples/python/*.py; do echo "== $example"; (cd "$work" && timeout 60 python3 -W ignore "$root/$example") || { echo "FAILED $example"; failed=1; }; done
fi
exit "$failed"
