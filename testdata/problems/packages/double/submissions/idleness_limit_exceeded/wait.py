import threading

n = int(input())
if n > 100:
    threading.Event().wait()
print(2 * n)
