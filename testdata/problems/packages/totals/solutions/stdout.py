# The right answer, on stdout.
print(sum(map(int, open("totals.in").read().split()[1:])))
