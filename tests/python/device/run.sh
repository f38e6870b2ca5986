#!/usr/bin/env bash
# The suite under the Python of this machine: run.sh DEPS.tar.xz [PAGE.html] builds the extension for it, and the program (build.py), and runs
# everything, side by side; CONTRACT names the estimators that all of the contract is for (default: all). DEPS has deps/include and deps/lib (build.py says of what) and, for machines without pytest, deps/python with it.
set -uo pipefail
root="$(cd "$(dirname "$0")/../../.." && pwd)"; work="$(mktemp -d)"; here="$root/tests/python/device"
tar xJf "$1" -C "$work"
start=$SECONDS
python3 "$here/build.py" "$work/deps" "$work/package" ${2:+"$2"} || exit 1
echo "built in $((SECONDS - start)) s"
export PYTHONPATH="$work/package" PYTHONDONTWRITEBYTECODE=1 SELFNORM_PROGRAM="$work/package/bin/selfnorm"
python3 -c "import pytest" 2> /dev/null || export PYTHONPATH="$PYTHONPATH:$work/deps/python"
python3 -c "import sys, numpy, sklearn, torch, selfnorm; print('Python', sys.version.split()[0], 'numpy', numpy.__version__, 'scikit-learn', sklearn.__version__, 'torch', torch.__version__)" || exit 1
cd "$root" || exit 1
names=()
begin() {  # NAME COMMAND...
  local name="$1"; shift; names+=("$name")
  (timeout 270 "$@" > "$work/$name.log" 2> "$work/$name.errors"; echo $? > "$work/$name.code") &
}
for script in transformers_layouts states_script; do begin "$script" python3 -W ignore "$here/$script.py"; done
# shellcheck disable=SC2086
begin contract python3 -W ignore "$here/contract.py" ${CONTRACT:-}
for suite in estimators training heads examples; do
  begin "test_$suite" python3 -m pytest -q -rfs --assert=plain --tb=short --maxfail=25 -p no:cacheprovider -W ignore "tests/python/test_$suite.py"
done
wait
failed=0
for name in "${names[@]}"; do
  echo "== $name"; cat "$work/$name.log"
  [ "$(cat "$work/$name.code")" = 0 ] || { failed=1; echo "FAILED with $(cat "$work/$name.code")"; tail -15 "$work/$name.errors"; }
done
exit "$failed"
