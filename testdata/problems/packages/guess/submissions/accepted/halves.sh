#!/bin/sh
low=1 high=1000 answer=
while [ "$answer" != correct ]; do
  middle=$(((low + high) / 2))
  echo $middle
  read answer || exit 1
  if [ "$answer" = lower ]; then high=$((middle - 1)); else low=$((middle + 1)); fi
done
