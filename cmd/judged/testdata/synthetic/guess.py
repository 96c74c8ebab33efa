import sys

with open(sys.argv[1]) as f:
    number = int(f.read().split()[1])
for _ in range(10):
    line = sys.stdin.readline()
    if not line.strip().isdigit():
        break
    guess = int(line)
    if guess == number:
        print("correct", flush=True)
        sys.exit(42)
    print("lower" if number < guess else "higher", flush=True)
sys.exit(43)
