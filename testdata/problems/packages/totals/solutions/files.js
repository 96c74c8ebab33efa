const fs = require("fs");
const [n, ...numbers] = fs.readFileSync("totals.in", "utf8").trim().split(/\s+/).map(Number);
fs.writeFileSync("totals.out", numbers.reduce((sum, x) => sum + x, 0) + "\n");
