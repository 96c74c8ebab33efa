#!/usr/bin/python3
# In the first pass a submission writes a number with the letters a and b, in the second one it reads them.
import os
import sys

task, given = open(sys.argv[1]).read().split()
words = sys.stdin.read().split()


def feedback(name, mode="w"):
    return open(os.path.join(sys.argv[3], name), mode)


def end(status, message):
    with feedback("judgemessage.txt", "a") as f:
        f.write(message + "\n")
    sys.exit(status)


if len(words) != 1:
    end(43, f"{task}: {len(words)} words")
if task == "read":
    with feedback("letters", "r") as f:
        assert f.read() == given
    answer = open(sys.argv[2]).read().strip()
    end(42 if words[0] == answer else 43, f"read {words[0]}")
if len(words[0]) > 40 or words[0].strip("ab"):
    end(43, "not letters")
with feedback("letters") as f:
    f.write(words[0])
with feedback("nextpass.in") as f:
    f.write(f"read {words[0]}\n")
end(42, f"wrote {words[0]}")
