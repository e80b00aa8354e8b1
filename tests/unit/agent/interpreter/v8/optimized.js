// SPDX-License-Identifier: Apache-2.0
'use strict';
// Prints the address of outer(), into which V8 has inlined middle() and leaf(), each twice.

function leaf(x, i) {
	x = Math.imul(x ^ i, 31);
	return x | 0;
}

function middle(x, n) {
	for (let i = 0; i < n; i++)
		x = leaf(x, i);
	return x;
}

function outer(x) {
	const first = middle(x, 100);

	return first +
		middle(first, 300);
}

%PrepareFunctionForOptimization(leaf);
%PrepareFunctionForOptimization(middle);
%PrepareFunctionForOptimization(outer);
for (let i = 0; i < 100; i++)
	outer(i);
%OptimizeFunctionOnNextCall(outer);
outer(1);
// Objects that are old do not move soon.
gc();
gc();
require('fs').writeSync(1, '\nFUNCTION\n');
%DebugPrint(outer);
require('fs').writeSync(1, '\nend\n');
setInterval(() => {}, 1000);
