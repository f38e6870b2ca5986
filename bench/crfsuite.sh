#!/bin/bash
# Builds the peer of bench/crf.py in the folder given: CRFsuite 0.12 with libLBFGS, the author's C sources as the npm
# package crfsuite 1.0.1 holds them (no Debian package has a CRF trainer: its `wapiti` is a web scanner), as fast as
# the compiler makes them, and bench/crfsuite_driver.c. Prints why where that cannot be done, and fails.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: crfsuite.sh FOLDER}
package=crfsuite@1.0.1
file=crfsuite-1.0.1.tgz
sha512=Q5aQmh4/PiaKIZEEoXa0vhKey1F7Le2BO2D6R5w5wW5ZwPSpGwKxF72veOS3/UC0AUaiCjt0qcma/ErcTM5GXQ==

missing() { echo "CRFsuite is missing: $1"; exit 1; }

mkdir -p "$folder" && cd "$folder" || missing "$folder cannot be made"
if [ ! -f "$file" ]; then
  command -v npm > /dev/null || missing "npm is not installed"
  npm pack --loglevel error "$package" > npm.log 2>&1 || missing "npm pack $package failed: $(grep -m 1 . npm.log)"
fi
found=$(openssl dgst -sha512 -binary "$file" | base64 -w 0)
[ "$found" = "$sha512" ] || { rm -f "$file"; missing "$package has sha512 $found, expected $sha512"; }
[ crfsuite_driver -nt "$here/crfsuite_driver.c" ] && exit 0
tar -xzf "$file" || missing "$file cannot be unpacked"
crf=package/crfsuite/lib/crf/src
${CC:-cc} -std=gnu11 -O3 -march=native -DUSE_SSE -DHAVE_EMMINTRIN_H -w -Ipackage/crfsuite/include \
  -Ipackage/crfsuite/lib/cqdb/include -Ipackage/liblbfgs/include -I"$crf" "$here/crfsuite_driver.c" "$crf"/*.c package/crfsuite/lib/cqdb/src/cqdb.c \
  package/crfsuite/lib/cqdb/src/lookup3.c package/liblbfgs/lib/lbfgs.c -o crfsuite_driver -lm > cc.log 2>&1 ||
  missing "it does not compile: $(head -n 1 cc.log)"
