import sys

n, *numbers = sys.stdin.read().split()
ok = int(n) == len(numbers) and all(1 <= int(x) <= 2 * 10**9 for x in numbers)
sys.exit(42 if ok else 43)
