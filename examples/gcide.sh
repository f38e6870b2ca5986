#!/usr/bin/env bash
# The text of the dictionary gcide (Debian package dict-gcide), tokenised, a sentence a line, on standard output:
# lower case, punctuation apart, without pronunciations, etymologies and the names of sources.
set -euo pipefail
zcat "${1:-/usr/share/dictd/gcide.dict.dz}" | LC_ALL=C awk '
  BEGIN { RS = ""; ORS = "" }
  {
    gsub(/\n/, " ")
    gsub(/\[[^]]*\]/, " ")          # [1913 Webster], [L. abjurare ...]
    gsub(/\\[^\\]*\\/, " ")         # \Ab*jure"\
    gsub(/--[A-Z][A-Za-z. ]*/, " ") # --Bp. Burnet.
    gsub(/[{}]/, "")
    $0 = tolower($0)
    gsub(/[^a-z0-9'"'"'-]+/, " & ")
    gsub(/[(){}"`*|:,]/, " ")
    gsub(/[.;?!]+/, "\n")
    count = split($0, sentence, "\n")
    for (i = 1; i <= count; ++i) {
      gsub(/[^a-z0-9 '"'"'-]/, "", sentence[i])
      words = split(sentence[i], word, " ")
      if (words < 4) continue
      for (j = 1; j <= words; ++j) print word[j] (j < words ? " " : "\n")
    }
  }'
