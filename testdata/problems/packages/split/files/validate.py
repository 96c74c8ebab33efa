#!/usr/bin/python3
import sys

lines = sys.stdin.read().split("\n")
ok = len(lines) == 2 and lines[1] == "" and all(0 <= int(x) <= 10**9 for x in lines[0].split(" "))
sys.exit(0 if ok else 3)
