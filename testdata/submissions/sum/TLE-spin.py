#!/usr/bin/env python3
# Proves that an interpreter is limited like any program.
while True:
    pass
