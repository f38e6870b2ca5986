#!/bin/sh
# names.sh PROGRAM...: fails when a test of these programs is named by the bytes of its parameter.
for program; do
  if "$program" --gtest_list_tests | grep -- '-byte object'; then
    echo "$program: give the parameter a PrintTo" >&2
    exit 1
  fi
done
