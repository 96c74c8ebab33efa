#!/usr/bin/env node
// Proves that Node works: lines read asynchronously, timers, and worker threads that share memory.
const { Worker, isMainThread, workerData, parentPort } = require("worker_threads");
const readline = require("readline");

function add({ numbers, first }) {
	let sum = 0n;
	for (let i = first; i < numbers.length; i += 2) sum += numbers[i];
	return sum;
}

function work(numbers, first) {
	return new Promise((resolve, reject) => {
		const w = new Worker(__filename, { workerData: { numbers, first } });
		w.once("message", resolve);
		w.once("error", reject);
	});
}

async function main() {
	const words = [];
	for await (const line of readline.createInterface({ input: process.stdin }))
		words.push(...line.split(" ").filter(Boolean));
	await new Promise((resolve) => setTimeout(resolve, 1));
	const shared = new BigInt64Array(new SharedArrayBuffer(8 * (words.length - 1)));
	words.slice(1).forEach((w, i) => { shared[i] = BigInt(w); });
	const [a, b] = await Promise.all([work(shared, 0), work(shared, 1)]);
	console.log(String(a + b));
}

if (isMainThread) main();
else parentPort.postMessage(add(workerData));
