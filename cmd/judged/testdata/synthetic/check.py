import sys

with open(sys.argv[2]) as f:
    ok = sys.stdin.read().split() == f.read().split()
sys.exit(42 if ok else 43)
