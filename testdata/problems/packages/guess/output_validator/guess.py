#!/usr/bin/python3
import sys

with open(sys.argv[1]) as f:
    number = int(f.read())
for _ in range(10):
    line = sys.stdin.readline()
    if not line.strip().isdigit():
        sys.exit(43)
    guess = int(line)
    if guess == number:
        print("correct", flush=True)
        sys.exit(42)
    print("lower" if number < guess else "higher", flush=True)
sys.exit(43)
