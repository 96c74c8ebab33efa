#!/bin/sh
read n
echo $((n * 2))
[ $n -le 100 ] || yes $n
