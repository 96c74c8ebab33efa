task, word = input().split()
while task == "read":
    pass
print("ab")
