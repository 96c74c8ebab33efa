task, word = input().split()
if task == "read":
    raise SystemExit(3)
print("ab")
