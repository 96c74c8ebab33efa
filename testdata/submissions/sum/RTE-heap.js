#!/usr/bin/env node
// Proves that a heap bounded by --max-old-space-size below the limit ends in SIGABRT: the engine notices itself.
const numbers = require("fs").readFileSync(0, "utf8").split(/\s+/).filter(Boolean).slice(1);
const blocks = [];
for (let i = 0; i < 512; i++) blocks.push(new Array(1 << 17).fill(i));
console.log(String(numbers.reduce((sum, x) => sum + BigInt(x), 0n)), blocks.length === 512 ? "" : "lost");
