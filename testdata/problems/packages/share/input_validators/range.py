#!/usr/bin/python3
import re
import sys

m = re.fullmatch(r"(0|[1-9][0-9]*) (0|[1-9][0-9]*)\n", sys.stdin.read())
sys.exit(42 if m and all(int(x) <= int(sys.argv[1]) for x in m.groups()) else 43)
