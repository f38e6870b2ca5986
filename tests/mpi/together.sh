#!/bin/sh
# The program as $SELFNORM_TEST_PROCESSES processes of one job. Process 1 gets the words $SELFNORM_TEST_EXTRA more,
# works in the folder $SELFNORM_TEST_FOLDER and is the program $SELFNORM_TEST_OTHER, if they are set.
if [ -n "$OMPI_COMM_WORLD_RANK" ]; then
  if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then
    [ -z "$SELFNORM_TEST_FOLDER" ] || cd "$SELFNORM_TEST_FOLDER" || exit 9
    exec "${SELFNORM_TEST_OTHER:-$SELFNORM_TEST_PROGRAM}" "$@" $SELFNORM_TEST_EXTRA
  fi
  exec "$SELFNORM_TEST_PROGRAM" "$@"
fi
[ "$SELFNORM_TEST_PROCESSES" = 1 ] && exec "$SELFNORM_TEST_PROGRAM" "$@"
exec mpirun --oversubscribe --allow-run-as-root --bind-to none -n "$SELFNORM_TEST_PROCESSES" "$0" "$@"
