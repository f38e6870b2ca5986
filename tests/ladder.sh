#!/usr/bin/env bash
# Includes go down the ladder only (docs/architecture.md). Usage: ladder.sh [ROOT]; prints each offender as file:line.
# `--self-test` plants violations in a copy and checks that each is caught.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
ladder=(base math mpi gpu data network optim proposal model sampler normalizer objective engine audit document family/classifier family/lm family/crf
  family/density family/regressor api page experiments cli)

check() {
  local root="$1"
  cd "$root"
  local folders=(); local folder
  for folder in include src experiments cli runtime; do [[ -d $folder ]] && folders+=("$folder"); done
  find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.inc' -o -name '*.c' \) | sort |
    xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' /dev/null |
    awk -v order="${ladder[*]}" '
      function rung(room, next_room) { return room == "family" ? room "/" next_room : room }
      BEGIN { n = split(order, names, " "); for (i = 1; i <= n; i++) rank[names[i]] = i; bad = 0 }
      {
        split($0, place, ":"); file = place[1]; line = place[2]
        target = $0; sub(/^[^<"]*[<"]/, "", target); sub(/[>"].*$/, "", target)
        m = split(file, part, "/")
        if (part[1] == "src") own = rung(part[2], part[3]); else own = part[1]
        if (target ~ /\.\.\//) { print file ":" line ": relative include \"" target "\" hides a rung"; bad = 1; next }
        n_pieces = split(target, piece, "/")
        if (target == "selfnorm.h") used = "runtime"
        else if (piece[1] == "selfnorm") used = n_pieces == 2 ? "include" : piece[2]
        else used = rung(piece[1], piece[2])
        if (!(used in rank) && used != "include" && used != "runtime" && ($0 ~ /include[[:space:]]*</ || part[1] != "src")) next
        if (own == "runtime") {
          if (used != "runtime") { print file ":" line ": runtime may include nothing of the ladder, found " target; bad = 1 }
        } else if (used == "include") {
          next
        } else if (used == "runtime") {
          if (rank[own] < rank["math"]) {
            print file ":" line ": only the rungs from math up may include the runtime, found " target; bad = 1
          }
        } else if (!(used in rank)) {
          print file ":" line ": " target " belongs to no rung"; bad = 1
        } else if (!(own in rank)) {
          print file ":" line ": folder " own " is no rung"; bad = 1
        } else if (rank[used] > rank[own]) {
          print file ":" line ": " own " may not include " used " (" target "), which is above it"; bad = 1
        }
      }
      END { exit bad }'
}

self_test() {
  local copy; copy="$(mktemp -d)"
  trap "rm -rf '$copy'" EXIT
  mkdir -p "$copy"/{include,src,cli,runtime}
  local -A plant=(
    [src/math/planted.h]='#include "family/classifier/trainer.h"'
    [src/base/planted.cc]='#include "math/random.h"'
    [runtime/src/planted.cc]='#include "base/failure.h"'
    [runtime/src/public_planted.cc]='#include "selfnorm/error.h"'
    [src/math/planted.cc]='#include "../engine/secret.h"'
    [src/base/runtime_planted.cc]='#include "selfnorm/runtime/safetensors.h"'
    [src/document/planted.cc]='#include "experiments/record.h"'
    [src/family/classifier/planted.cc]='#include "family/density/density_sample.h"'
    [src/model/planted.cc]='#include "utils/strings.h"')
  local file status=0 report
  for file in "${!plant[@]}"; do
    mkdir -p "$copy/$(dirname "$file")"
    printf '// planted\n%s\n' "${plant[$file]}" > "$copy/$file"
    report="$( (check "$copy") || true)"
    if [[ "$report" != "$file:2: "* ]]; then
      echo "not caught: $file: ${plant[$file]} (reported: '$report')"; status=1
    fi
    rm "$copy/$file"
  done
  printf '#include "family/classifier/trainer.h"\n#include "selfnorm/error.h"\n#include "run/run_record.h"\n#include "experiments/record.h"\n#include <vector>\n' > "$copy/cli/allowed.cc"
  (check "$copy") || { echo "an allowed include was refused"; status=1; }
  return $status
}

if [[ "${1:-}" == --self-test ]]; then
  self_test && echo "ladder self-test: every planted violation is caught"
else
  check "${1:-$here/..}" && echo "ladder: includes go downwards only"
fi
