#!/bin/sh
read line
best=0
for n in $line; do [ $n -gt $best ] && best=$n; done
echo $best
