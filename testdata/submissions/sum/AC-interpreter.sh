#!/bin/sh
# Proves that a file with a #! line is a program.
read -r n
total=0
for x in $(head -n "$n"); do
	total=$((total + x))
done
echo "$total"
