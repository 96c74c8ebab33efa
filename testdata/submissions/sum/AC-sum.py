#!/usr/bin/env python3
# Proves that an interpreted program finds its interpreter and its libraries.
import sys

numbers = sys.stdin.read().split()
print(sum(int(x) for x in numbers[1:]))
