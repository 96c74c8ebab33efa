#!/usr/bin/env python3
# Proves that big integers, threads and a child of the same interpreter work: each adds up a share.
import subprocess
import sys
import threading

if len(sys.argv) > 1:
    print(sum(map(int, sys.stdin.read().split())))
    sys.exit()

numbers = [int(x) for x in sys.stdin.read().split()[1:]]
shares = [numbers[i::4] for i in range(4)]
sums = [0] * 4


def add(i):
    shift = 1 << 20000
    sums[i] = sum(x * shift for x in shares[i]) // shift


threads = [threading.Thread(target=add, args=(i,)) for i in range(3)]
for t in threads:
    t.start()
child = subprocess.run([sys.executable, sys.argv[0], "child"], input=" ".join(map(str, shares[3])),
                       capture_output=True, text=True, check=True)
for t in threads:
    t.join()
print(sum(sums) + int(child.stdout))
