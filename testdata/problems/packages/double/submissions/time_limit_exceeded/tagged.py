# @EXPECTED_RESULTS@: TIMELIMIT
n = int(input())
while n == 0:
    pass
print(2 * n)
