n = int(input())
print(2 * n)
while n > 100:
    print(str(n) * 1000)
