#!/usr/bin/env python3
# Proves that an uncaught exception is a run-time error with its text on stderr.
raise ValueError("no answer")
