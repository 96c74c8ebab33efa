#!/usr/bin/env node
// Proves that an engine is limited like any program.
for (;;);
