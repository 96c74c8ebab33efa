#!/bin/sh
read n
[ $n -gt 100 ] && exit 7
echo $((n * 2))
