#!/usr/bin/env python3
# Compares one number, as a checker that uses testlib does: arguments input, output, answer.
import sys

output, answer = (open(name).read().split() for name in sys.argv[2:4])
if len(output) != 1:
    print(f"want one number, got {len(output)}", file=sys.stderr)
    sys.exit(2)
sys.exit(0 if output == answer else 1)
