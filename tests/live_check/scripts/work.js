// SPDX-License-Identifier: Apache-2.0
// Work for V8: compiled code, built-ins that call back, regular expressions, garbage collection,
// zlib in C++.
'use strict';
const zlib = require('zlib');
const crypto = require('crypto');

function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function round() {
	fibonacci(22);
	const numbers = Array.from({ length: 5000 }, (_, i) => (i * 7919) % 10007);
	numbers.sort((a, b) => a - b);
	const text = JSON.stringify(numbers.map((n) => ({ n, s: String(n).repeat(3) })));
	JSON.parse(text).reduce((sum, item) => sum + item.n, 0);
	text.replace(/\d{3,}/g, (match) => match.split('').reverse().join(''));
	zlib.deflateSync(text);
	crypto.createHash('sha256').update(text).digest('hex');
	setImmediate(round);
}

round();
