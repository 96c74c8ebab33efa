a, b = map(int, input().split())
print(a + b if a < 1000 else 0)
