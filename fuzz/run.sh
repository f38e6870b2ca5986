#!/bin/sh
# Runs every built fuzz target on a copy of its kept corpus: fuzz/run.sh [SECONDS each, default 10] [BUILD, default build/fuzz].
# Fails on the first crash, leak, timeout or excess of memory, and leaves the input in BUILD/crashes/.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-${SECONDS_EACH:-10}}
build=${2:-$here/../build/fuzz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$build/crashes"
found=0
for program in "$build"/fuzz/fuzz_*; do
  [ -f "$program" ] && [ -x "$program" ] || continue
  found=1
  target=$(basename "$program")
  mkdir -p "$work/$target"
  [ -d "$here/corpus/$target" ] && cp -r "$here/corpus/$target/." "$work/$target/"
  echo "$target for $seconds s"
  if ! "$program" -max_total_time="$seconds" -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10 -max_len=65536 \
    -artifact_prefix="$build/crashes/$target-" "$work/$target" >"$work/log" 2>&1; then
    cat "$work/log"
    echo "$target failed; the input is in $build/crashes" >&2
    exit 1
  fi
  grep '^Done' "$work/log" || true
done
if [ "$found" = 0 ]; then
  echo "no fuzz targets in $build/fuzz; build them with: cmake --preset fuzz && cmake --build --preset fuzz" >&2
  exit 1
fi
