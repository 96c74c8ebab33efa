#!/usr/bin/env node
// Proves that buffers, which lie outside the heap that --max-old-space-size bounds, are memory of the run.
const numbers = require("fs").readFileSync(0, "utf8").split(/\s+/).filter(Boolean).slice(1);
const blocks = [];
for (let i = 0; i < 512; i++) blocks.push(Buffer.alloc(1 << 20, 1));
console.log(String(numbers.reduce((sum, x) => sum + BigInt(x), 0n)), blocks.length === 512 ? "" : "lost");
