#!/usr/bin/python3
import sys

with open(sys.argv[1]) as f:
    total = int(f.read())
with open(sys.argv[2]) as f:
    words = f.read().split()
if len(words) != 2 or not all(w.isdigit() for w in words):
    print("wrong answer two numbers expected", file=sys.stderr)
    sys.exit(1)
if sum(map(int, words)) != total or min(map(int, words)) < 1:
    print("wrong answer the sum is", sum(map(int, words)), file=sys.stderr)
    sys.exit(1)
print("ok", file=sys.stderr)
