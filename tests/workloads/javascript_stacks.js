// SPDX-License-Identifier: Apache-2.0
'use strict';
// JavaScript with known stacks. Arguments: what runs, and a file; the program ends when the file exists.
//
//   shares    sixty(), thirty() and ten() use these shares of the time
//   calls     100 levels of recursion, and functions that are called by V8's built-in functions
//   threads   two workers
//   inlined   six(), three() and one() use 60, 30 and 10 % of the time, and V8 inlines them and step() into round()

const fs = require('fs');
const { Worker, isMainThread, workerData } = require('worker_threads');

const [, , program, endFile] = process.argv;

// All time is used here.
function spin(rounds) {
	let x = rounds;

	for (let i = 0; i < rounds * 1000; i++)
		x = (Math.imul(x, 31) + i) | 0;
	return x;
}

function hasEnded() {
	return fs.existsSync(endFile);
}

function sixty() {
	return spin(600);
}

function thirty() {
	return spin(300);
}

function ten() {
	return spin(100);
}

function shares() {
	while (!hasEnded()) {
		sixty();
		thirty();
		ten();
	}
}

function descend(levels) {
	if (levels > 1)
		return descend(levels - 1) + 1;
	return spin(400);
}

class Shop {
	static tax(price) {
		return spin(100) + price;
	}

	#prices = [3, 1, 2, 4];

	// Two numbers are compared once.
	cheapest() {
		return [2, 1].sort((a, b) => (spin(400) === 0 ? 0 : a - b))[0];
	}

	total() {
		return this.#prices.map(Shop.tax);
	}
}

function* numbers(count) {
	for (let i = 0; i < count; i++)
		yield spin(100);
}

function consume() {
	let sum = 0;

	for (const number of numbers(4))
		sum += number;
	return sum;
}

function throws() {
	spin(200);
	throw new Error('expected');
}

function catches() {
	try {
		throws();
	} catch (error) {
		return spin(200);
	}
	return 0;
}

const compiled = new Function('spin', 'return spin(400);');

async function waits() {
	await null;
	return spin(400);
}

async function calls() {
	const shop = new Shop();

	while (!hasEnded()) {
		descend(100);
		shop.cheapest();
		shop.total();
		consume();
		catches();
		compiled(spin);
		await waits();
	}
}

function threads() {
	for (const name of ['first', 'second'])
		new Worker(__filename, { argv: ['worker', endFile], workerData: name });
}

function firstThread() {
	return spin(100);
}

function secondThread() {
	return spin(100);
}

function worker() {
	const run = workerData === 'first' ? firstThread : secondThread;

	while (!hasEnded())
		run();
}

// Longer than the code of a loop around it.
function step(x, i) {
	x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
	x = Math.imul(x ^ (x >>> 12), 0x297a2d39);
	x = Math.imul(x ^ (x >>> 13), 0x165667b1);
	x = Math.imul(x ^ (x >>> 11), 0x2545f491);
	return (x ^ (x >>> 14)) + i | 0;
}

function six(x) {
	for (let i = 0; i < 600; i++) {
		x = step(x, i);
		x = Math.imul(x ^ (x >>> 12), 0x2c1b3c6d);
	}
	return x;
}

function three(x) {
	for (let i = 0; i < 300; i++) {
		x = step(x, i);
		x = Math.imul(x ^ (x >>> 12), 0x2c1b3c6d);
	}
	return x;
}

function one(x) {
	for (let i = 0; i < 100; i++) {
		x = step(x, i);
		x = Math.imul(x ^ (x >>> 12), 0x2c1b3c6d);
	}
	return x;
}

function round(x) {
	x = six(x);
	x = three(x);
	return one(x);
}

// The event loop calls this, so that V8 does not replace the code of round() in the middle of a loop.
function inlined() {
	for (let i = 0; i < 1000; i++)
		sum = round(sum);
	if (!hasEnded())
		setImmediate(inlined);
}

let sum = 1;

const programs = { shares, calls, threads, worker, inlined };

programs[isMainThread ? program : 'worker']();
