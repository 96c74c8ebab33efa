a, b = map(int, input().split()[:2])
print(max(a, b))
