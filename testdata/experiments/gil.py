"""A threaded server under CPython's lock (Koder 2013, Mirantis 2014).

Arguments: THREADS LINES. A server process has a thread for each connection, which reads lines of 100 blanks byte by
byte and spins a little after each; "bye" ends it. The client opens the connections and sends LINES lines to random
ones. Connections are socket pairs: the sandbox has no network. Prints what the server used, in seconds and counts.
"""
import json
import os
import random
import resource
import socket
import sys
import threading
import time

LINE = b" " * 99 + b"\n"
SPIN = 12000


def serve(connection):
    line = bytearray()
    while True:
        byte = connection.recv(1)
        line += byte
        if byte != b"\n":
            continue
        if line.startswith(b"bye"):
            return
        line.clear()
        for _ in range(SPIN):
            pass


def server(connections):
    threads = [threading.Thread(target=serve, args=(c,)) for c in connections]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def client(connections, lines):
    chance = random.Random(2013)
    for _ in range(lines):
        chance.choice(connections).sendall(LINE)
    for connection in connections:
        connection.sendall(b"bye\n")


def main():
    threads, lines = int(sys.argv[1]), int(sys.argv[2])
    pairs = [socket.socketpair() for _ in range(threads)]
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        server([theirs for _, theirs in pairs])
        os._exit(0)
    client([ours for ours, _ in pairs], lines)
    _, status, used = os.wait4(child, 0)
    print(json.dumps({
        "real_s": time.monotonic() - start, "user_s": used.ru_utime, "system_s": used.ru_stime,
        "switches": used.ru_nvcsw + used.ru_nivcsw,
    }))
    sys.exit(os.waitstatus_to_exitcode(status))


main()
