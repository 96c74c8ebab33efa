task, word = input().split()
if task == "write":
    print(f"{int(word):b}".translate(str.maketrans("01", "ab")))
else:
    print(int(word.translate(str.maketrans("ab", "01")), 2))
