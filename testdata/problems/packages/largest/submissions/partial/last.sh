#!/bin/sh
read a b rest
set -- $a $b $rest
if [ $# = 2 ]; then [ $1 -gt $2 ] && echo $1 || echo $2; else for n in "$@"; do :; done; echo $n; fi
