"""Does 600 ms of work in the way that its argument names, as share.c does."""
import os
import sys
import threading
import time


def work(ms):
    until = time.thread_time() + ms / 1000
    while time.thread_time() < until:
        pass


def child(group):
    pid = os.fork()
    if pid == 0:
        if group:
            os.setpgid(0, 0)
        work(600)
        os._exit(0)
    os.waitpid(pid, 0)


how = sys.argv[1]
if how == "first":
    work(600)
elif how == "threads":
    every = [threading.Thread(target=work, args=(150,)) for _ in range(4)]
    for t in every:
        t.start()
    for t in every:
        t.join()
else:
    child(how == "groups")
print("ok")
