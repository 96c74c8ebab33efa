# One number too many.
total = sum(map(int, open("totals.in").read().split()[1:]))
open("totals.out", "w").write(f"{total} {total}\n")
