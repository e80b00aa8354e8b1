// SPDX-License-Identifier: Apache-2.0
'use strict';
// Prints for each function its expected name and line, and the address of the object. @FILLER@

const fs = require('fs');
const text = fs.readFileSync(__filename, 'utf8');

function plain(first) { return first; }
function café(second) { return second; }
const assigned = function (third) { return third; };
const named = { handler: function ownName(fourth) { return fourth; } };
exports.inferred = function (sixth) { return sixth; };
class Shop {
	static #count = 0;
	price(seventh) { return seventh + Shop.#count; }
}
function keeps(eighth) {
	let a = eighth, b = 2, c = 3;
	return function inner() { return a++ + b++ + c++; };
}
const many = new Function('names', 'let ' + Array.from({ length: 100 }, (_, i) => 'v' + i + ' = 0').join(',') +
	'; return function hasManyVariables() { return eval("v0"); };')();

function unnamed() { return [(ninth) => ninth]; }

const functions = [
	['plain', plain], ['café', café], ['assigned', assigned], ['ownName', named.handler],
	['exports.inferred', exports.inferred], ['price', Shop.prototype.price],
	['inner', keeps(1)], ['(anonymous)', unnamed()[0]],
];

function print(name, line, f) {
	fs.writeSync(1, `\nFUNCTION ${name} ${line}\n`);
	%DebugPrint(f);
}

const lines = functions.map(([name, f]) => {
	f(1);
	return text.slice(0, text.indexOf(f.toString())).split('\n').length;
});
many();
// The test reads objects by their addresses. Old objects do not move soon.
gc();
gc();
functions.forEach(([name, f], i) => print(name, lines[i], f));
print('hasManyVariables', 3, many);
print('[builtin]', 0, Array.prototype.map);
fs.writeSync(1, '\nend\n');
setInterval(() => {}, 1000);
