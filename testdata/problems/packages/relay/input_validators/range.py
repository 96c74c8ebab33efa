#!/usr/bin/python3
import re
import sys

line = re.fullmatch(r"write (0|[1-9][0-9]*)\n", sys.stdin.read())
sys.exit(42 if line and int(line[1]) <= 10**9 else 43)
