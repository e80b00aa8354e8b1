/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A profile's tree in typed arrays. A million nodes need tens of megabytes and create no garbage.
 *
 * Nodes are in the order of the answer: depth-first, children by falling total. The subtree of a node is therefore the
 * range [node, end[node]), and end[node] is its next sibling, if it has one.
 *
 *   fn[n]       index of the function     self[n], total[n]   values
 *   parent[n]   -1 for the root           start[n]            the left edge, in the unit of the values
 *   depth[n]    0 for the root            end[n]              one past the last node of the subtree
 *   kidsEnd[n]  the right edge of the last child; the server pruned the range from there to start + width - self
 *   width[n]    as drawn: the total, except in the graph of a difference
 */

import { KINDS } from "./format.js";

const DEEPEST = 65535; /* depth is a Uint16Array */

/*
 * Parses an answer: {answer, nodes}. The rows of nodes, nearly all of a large answer, are read directly into one array of
 * numbers, row by row, because JSON.parse() would allocate an array for each of a million rows. No label can match the
 * key, because quotes within labels are escaped. answer.result.node_values.values stays empty.
 */
export function parseAnswer(text) {
	const key = /"node_values"\s*:\s*\{\s*"columns"\s*:\s*\[[^\]]*\]\s*,\s*"values"\s*:\s*\[/.exec(text);

	if (!key)
		return { answer: JSON.parse(text), nodes: null };
	const begin = key.index + key[0].length;
	const { numbers, end } = scanNumbers(text, begin);
	return { answer: JSON.parse(text.slice(0, begin) + text.slice(end)), nodes: numbers };
}

const [MINUS, ZERO, NINE, OPEN, CLOSE, QUOTE] = [..."-09[]\""].map((character) => character.charCodeAt(0));

/* Reads all integers up to the bracket that closes the rows. */
function scanNumbers(text, at) {
	let numbers = new Float64Array(4096);
	let count = 0;

	for (let depth = 1; ; at++) {
		const code = text.charCodeAt(at);
		if (code >= ZERO && code <= NINE) {
			const sign = text.charCodeAt(at - 1) === MINUS ? -1 : 1;
			let number = 0;
			for (let digit; (digit = text.charCodeAt(at) - ZERO) >= 0 && digit <= 9; at++)
				number = number * 10 + digit;
			if (count === numbers.length)
				numbers = grown(numbers);
			numbers[count++] = sign * number;
			at--;
		} else if (code === OPEN) {
			depth++;
		} else if (code === CLOSE) {
			if (--depth === 0)
				return { numbers: numbers.subarray(0, count), end: at };
		} else if (code === QUOTE || Number.isNaN(code)) {
			throw new Error("The answer's nodes are not numbers.");
		}
	}
}

function grown(numbers) {
	const larger = new Float64Array(numbers.length * 2);
	larger.set(numbers);
	return larger;
}

/* Makes the tree. @result is answer.result of parseAnswer(), @nodes its nodes. */
export function treeFromColumns(result, nodes) {
	const names = ["function_id", "parent_node_id", "self_value", "total_value"];
	const columns = columnOrder(result.node_values.columns, names);
	const width = result.node_values.columns.length;
	const n = nodes.length / width;
	const column = (Type, index) => {
		const values = new Type(n);
		for (let i = 0, at = columns[index]; i < n; i++, at += width)
			values[i] = nodes[at];
		return values;
	};
	if (!Number.isInteger(n) || n === 0)
		throw new Error("The answer's nodes are incomplete.");

	const tree = {
		n,
		names: result.functions,
		types: result.function_types,
		fnSelf: functionColumn(result, "self_value"),
		fnTotal: functionColumn(result, "total_value"),
		fn: column(Uint32Array, 0),
		parent: column(Int32Array, 1),
		self: column(Float64Array, 2),
		total: column(Float64Array, 3),
		start: new Float64Array(n),
		depth: new Uint16Array(n),
		end: new Uint32Array(n),
		kidsEnd: new Float64Array(n),
	};
	tree.width = tree.total;
	layOut(tree);
	return tree;
}

function columnOrder(columns, names) {
	return names.map((name) => {
		const index = columns.indexOf(name);
		if (index < 0)
			throw new Error(`The answer lacks the column ${name}.`);
		return index;
	});
}

function functionColumn(result, name) {
	const [index] = columnOrder(result.function_values.columns, [name]);
	return Float64Array.from(result.function_values.values, (row) => row[index]);
}

/* Computes depths, left edges and ends. Throws if the rows are not in depth-first order. */
export function layOut(tree) {
	const { n, fn, parent, width, start, depth, end, kidsEnd, names } = tree;

	for (let i = 0; i < n; i++) {
		const p = parent[i];
		if (i === 0 ? p !== -1 : !(p >= 0 && p < i))
			throw new Error(`The answer's node ${i} stands before its parent.`);
		if (fn[i] >= names.length)
			throw new Error(`The answer's node ${i} has no function.`);
		if (i === 0)
			continue;
		closeUpTo(tree, i, p);
		depth[i] = Math.min(depth[p] + 1, DEEPEST);
		start[i] = kidsEnd[p];
		kidsEnd[i] = start[i];
		kidsEnd[p] += width[i];
	}
	for (let node = n - 1; node >= 0; node = parent[node])
		end[node] = n;
}

/* Sets the end of the subtrees that node @i, a child of @p, ends: those of i - 1 and its ancestors below @p. */
function closeUpTo({ parent, end }, i, p) {
	for (let open = i - 1; open !== p; open = parent[open]) {
		if (open < p)
			throw new Error(`The answer's node ${i} is out of order.`);
		end[open] = i;
	}
}

export function labelOf(tree, node) {
	return tree.names[tree.fn[node]];
}

export function typeOf(tree, node) {
	return tree.types[tree.fn[node]];
}

/* True for the tree of whole hosts (Total). It has processes where other trees have functions. */
export function isOfHosts(tree) {
	return tree.types[tree.fn[0]] === "H";
}

/* Returns the type that determines a function's colour. */
export function colourOf(tree, fn) {
	return isOfHosts(tree) && tree.types[fn] === "P" ? "A" : tree.types[fn];
}

/* Returns the labels from below the root to the node. Unlike a node's index, the path is valid in the next answer. */
export function pathOf(tree, node) {
	const path = [];

	for (; node > 0; node = tree.parent[node])
		path.push(labelOf(tree, node));
	return path.reverse();
}

/* Returns the node at @path, or the deepest node on that path that exists. */
export function nodeAt(tree, path) {
	let node = 0;

	for (const label of path) {
		const child = childCalled(tree, node, label);
		if (child < 0)
			break;
		node = child;
	}
	return node;
}

function childCalled(tree, node, label) {
	for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
		if (labelOf(tree, child) === label)
			return child;
	}
	return -1;
}

/*
 * Returns a 64-bit hash of a node's path for links; "" for the root. nodeOfHash() finds the node in one pass over all
 * nodes, and returns 0 (the root) if there is none with that path.
 */
export function hashOfPath(tree, node) {
	return node === 0 ? "" : hexOf(pathOf(tree, node).reduce((hash, label) => mix(hash, hashOfText(label)), [0, 0]));
}

export function nodeOfHash(tree, hash) {
	if (!/^[0-9a-f]{16}$/.test(hash))
		return 0;

	const labels = tree.names.map(hashOfText);
	const [high, low] = [new Int32Array(tree.n), new Int32Array(tree.n)];
	const wanted = [parseInt(hash.slice(0, 8), 16) | 0, parseInt(hash.slice(8), 16) | 0];
	for (let i = 1; i < tree.n; i++) {
		const p = tree.parent[i];
		[high[i], low[i]] = mix([high[p], low[p]], labels[tree.fn[i]]);
		if (high[i] === wanted[0] && low[i] === wanted[1])
			return i;
	}
	return 0;
}

function hashOfText(text) {
	let [high, low] = [0x811c9dc5, 0x1000193];

	for (let i = 0; i < text.length; i++) {
		high = Math.imul(high ^ text.charCodeAt(i), 0x01000193);
		low = Math.imul(low ^ text.charCodeAt(i), 0x5bd1e995);
	}
	return [high | 0, (low ^ (low >>> 15)) | 0];
}

function mix(hash, label) {
	return [Math.imul((hash[0] << 5 | hash[0] >>> 27) ^ label[0], 0x9e3779b1) | 0,
		Math.imul((hash[1] << 7 | hash[1] >>> 25) ^ label[1], 0x85ebca6b) | 0];
}

function hexOf(hash) {
	return hash.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/*
 * Returns the functions that a search text selects, as a Uint8Array by function; null for an empty text. Plain text
 * matches any part of a name and ignores case. "text" in quotes is a whole name, /text/ a regular expression (throws
 * SyntaxError if it is invalid), and kind:kernel selects all functions of a kind.
 */
export function matchFunctions(tree, text) {
	if (!text)
		return null;

	const test = testOf(text);
	const matches = new Uint8Array(tree.names.length);
	for (let i = 0; i < matches.length; i++)
		matches[i] = test(tree.names[i], tree.types[i]) ? 1 : 0;
	return matches;
}

function testOf(text) {
	if (text.length > 2 && text.startsWith('"') && text.endsWith('"')) {
		const exact = text.slice(1, -1);
		return (name) => name === exact;
	}
	if (text.length > 2 && text.startsWith("/") && text.endsWith("/")) {
		const expression = new RegExp(text.slice(1, -1), "i");
		return (name) => expression.test(name);
	}
	const kind = Object.keys(KINDS).find((type) => text === `kind:${KINDS[type]}`);
	if (kind)
		return (name, type) => type === kind;
	const lower = text.toLowerCase();
	return (name) => name.toLowerCase().includes(lower);
}

/* Returns the topmost matching nodes in the subtree of @root. None is below another, so that their totals can be added. */
export function topmostMatches(tree, matches, root) {
	const nodes = [];

	for (let i = root; i < tree.end[root];) {
		if (matches[tree.fn[i]]) {
			nodes.push(i);
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return nodes;
}

export function sumOfTotals(tree, nodes) {
	return nodes.reduce((sum, node) => sum + tree.total[node], 0);
}

/*
 * Returns self and total of each function. For the whole tree the answer has them; for a subtree they are summed here.
 * Recursion counts once: only the topmost node of a function on a path adds to its total.
 */
export function functionValues(tree, root) {
	if (root === 0)
		return { self: tree.fnSelf, total: tree.fnTotal };

	const self = new Float64Array(tree.names.length);
	const total = new Float64Array(tree.names.length);
	const countedUntil = new Uint32Array(tree.names.length);

	for (let i = root; i < tree.end[root]; i++) {
		const fn = tree.fn[i];
		self[fn] += tree.self[i];
		if (i >= countedUntil[fn]) {
			total[fn] += tree.total[i];
			countedUntil[fn] = tree.end[i];
		}
	}
	return { self, total };
}

/* Returns the self value by kind of function, the largest first: [[type, value], ...]. */
export function selfByKind(tree, values) {
	const sums = new Map();

	for (let i = 0; i < values.self.length; i++) {
		if (values.self[i] > 0)
			sums.set(tree.types[i], (sums.get(tree.types[i]) ?? 0) + values.self[i]);
	}
	return [...sums].sort((a, b) => b[1] - a[1]);
}
