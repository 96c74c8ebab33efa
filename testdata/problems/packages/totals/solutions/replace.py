# Writes to another file, and gives it the name of the output.
import os

with open("totals.in") as f:
    total = sum(map(int, f.read().split()[1:]))
with open("draft", "w") as f:
    print(total, file=f)
os.replace("draft", "totals.out")
