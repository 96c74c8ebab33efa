table = []
while True:
    table.append(b"x" * (1 << 20 | len(table)))
