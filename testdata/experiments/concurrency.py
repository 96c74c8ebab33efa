"""Threads, processes and async (Vera, 2021): the same tasks, done in six ways.

Arguments: KIND WAY SIZE. KIND is io (wait for an answer), cpu (Fibonacci numbers) or mixed (both). WAY is sequential,
threads, processes, thread-pool, process-pool or async. SIZE scales the work. Answers come through pipes from a process
that lets every asker wait: the sandbox has no network. In way async nothing yields while it computes: the blocked event
loop of the experiment is cpu async.
"""
import asyncio
import concurrent.futures
import heapq
import multiprocessing
import os
import select
import sys
import threading
import time

FETCHES = 48
DELAY = 0.3  # seconds until an answer comes, less for a SIZE below 0.1
TASKS = 10
EFFORT = 160  # Fibonacci numbers that each task computes
FIBONACCI = 24
WORKERS = 10

fork = multiprocessing.get_context("fork")


class Network:
    """One pipe to ask and one for the answer, for every fetch."""

    def __init__(self, fetches, delay):
        self.asks = [os.pipe() for _ in range(fetches)]
        self.answers = [os.pipe() for _ in range(fetches)]
        self.process = os.fork()
        if self.process == 0:
            self.serve(delay)
            os._exit(0)
        for (ask, _), (_, answer) in zip(self.asks, self.answers):
            os.close(ask)
            os.close(answer)

    def serve(self, delay):
        numbers = {ask: i for i, (ask, _) in enumerate(self.asks)}
        due, left = [], len(numbers)
        while left:
            wait = max(0.0, due[0][0] - time.monotonic()) if due else None
            for ask in select.select(list(numbers), [], [], wait)[0]:
                os.read(ask, 1)
                heapq.heappush(due, (time.monotonic() + delay, numbers.pop(ask)))
            while due and due[0][0] <= time.monotonic():
                os.write(self.answers[heapq.heappop(due)[1]][1], b"x" * 4096)
                left -= 1

    def fetch(self, i):
        os.write(self.asks[i][1], b"?")
        os.read(self.answers[i][0], 4096)

    async def fetch_async(self, i):
        loop, answered = asyncio.get_running_loop(), asyncio.Event()
        os.write(self.asks[i][1], b"?")
        loop.add_reader(self.answers[i][0], answered.set)
        await answered.wait()
        loop.remove_reader(self.answers[i][0])
        os.read(self.answers[i][0], 4096)


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def do(task):
    kind, i, effort = task
    if kind == "io":
        network.fetch(i)
    else:
        for _ in range(effort):
            fibonacci(FIBONACCI)


async def do_async(task):
    kind, i, _ = task
    if kind == "io":
        await network.fetch_async(i)
    else:
        do(task)


async def all_async(tasks):
    await asyncio.gather(*(do_async(task) for task in tasks))


def each(worker, tasks):
    started = [worker(target=do, args=(task,)) for task in tasks]
    for w in started:
        w.start()
    for w in started:
        w.join()


def pool(executor, tasks):
    with executor:
        for _ in executor.map(do, tasks):
            pass


def main():
    global network
    kind, way, size = sys.argv[1], sys.argv[2], float(sys.argv[3])
    tasks = []
    if kind != "cpu":
        fetches = max(1, round(FETCHES * min(size, 1)))
        network = Network(fetches, DELAY * min(10 * size, 1))
        tasks += [("io", i, 0) for i in range(fetches)]
    if kind != "io":
        tasks += [("cpu", i, max(1, round(EFFORT * size))) for i in range(TASKS)]
    if way == "sequential":
        for task in tasks:
            do(task)
    elif way == "threads":
        each(threading.Thread, tasks)
    elif way == "processes":
        each(fork.Process, tasks)
    elif way == "thread-pool":
        pool(concurrent.futures.ThreadPoolExecutor(WORKERS), tasks)
    elif way == "process-pool":
        pool(concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=fork), tasks)
    elif way == "async":
        asyncio.run(all_async(tasks))
    else:
        sys.exit(2)
    if kind != "cpu":
        os.waitpid(network.process, 0)


network = None
main()
