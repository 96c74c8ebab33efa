"""Does as many ms of work as its second argument says, in the way that the first one names, as share.c does."""
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
        work(ms)
        os._exit(0)
    os.waitpid(pid, 0)


how, ms = sys.argv[1], int(sys.argv[2])
if how == "first":
    work(ms)
elif how == "threads":
    every = [threading.Thread(target=work, args=(ms / 4,)) for _ in range(4)]
    for t in every:
        t.start()
    for t in every:
        t.join()
else:
    child(how == "groups")
print("ok")
