#!/usr/bin/env python3
# Proves that an interpreter's heap is memory of the run. It is killed: nothing makes the interpreter itself notice.
import sys

numbers = [int(x) for x in sys.stdin.read().split()[1:]]
blocks = [bytearray(b"x" * (1 << 20)) for _ in range(512)]
print(sum(numbers) + len(blocks) - 512)
