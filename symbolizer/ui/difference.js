/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The difference graph: the profile of the selection with the change from another profile, the base. The tree has the
 * frames of both. Its values are those of the selection; baseSelf and baseTotal are those of the base. A frame that only
 * the base has is drawn with the width of its value in the base.
 */

import { labelOf, layOut, typeOf } from "./columns.js";
import { formatShare, formatValue } from "./format.js";
import { durationSeconds } from "./state.js";

/*
 * Added to both shares before they are compared. The change of a frame with few samples is mostly chance, so that it gets
 * a pale colour: 0.05 % are ten samples of 20000.
 */
const PALE_SHARE = 0.0005;

/* Colours reach their full strength where a frame doubles or halves. */
const FULL_LOG2 = 1;
export const STEPS = 5; /* colours of each direction */

export const BOTH = 0;
export const APPEARED = 1;
export const VANISHED = 2;

/* Returns the selection of the base: {service, since, until, ...}; null: the state compares with nothing. */
export function baseSelection(state, selection) {
	const length = selection.until - selection.since + 1;
	const back = state.base === "before" ? length : durationSeconds(state.base);

	if (!state.base && !state.base_service)
		return null;
	return { ...selection, service: state.base_service || selection.service, since: selection.since - back,
		until: selection.until - back };
}

/* Makes the tree of both profiles. @seconds, @baseSeconds: covered by agents, to compare values per second. */
export function differenceOf(after, base, seconds, baseSeconds) {
	const union = unionOf(after, base);
	const scale = base.total[0] > 0 ? after.total[0] / base.total[0] : 1;

	addWidths(union, scale);
	const tree = treeOf(union);
	Object.assign(tree, { seconds, baseSeconds });
	layOut(tree);
	return tree;
}

/* Numbers the functions of both trees. Functions with the same name and type are one. */
function functionsOf(after, base) {
	const keyOf = (name, type) => `${type}${name}`;
	const numbers = new Map(after.names.map((name, fn) => [keyOf(name, after.types[fn]), fn]));
	const names = [...after.names];
	const types = [...after.types];
	const ofBase = base.names.map((name, fn) => {
		const key = keyOf(name, base.types[fn]);
		if (!numbers.has(key)) {
			numbers.set(key, names.length);
			names.push(name);
			types.push(base.types[fn]);
		}
		return numbers.get(key);
	});

	/* The roots are the selections, whatever their services are called. */
	if (base.names.length > 0)
		ofBase[base.fn[0]] = after.fn[0];
	return { names, types, ofBase };
}

/* Merges the nodes. A parent's index is lower than those of its children. */
function unionOf(after, base) {
	const { names, types, ofBase } = functionsOf(after, base);
	const most = after.n + base.n;
	const union = { n: after.n, names, types, fn: new Uint32Array(most), parent: new Int32Array(most), self: new Float64Array(most),
		total: new Float64Array(most), baseSelf: new Float64Array(most), baseTotal: new Float64Array(most), pruned: new Float64Array(most),
		fnSelf: grownTo(after.fnSelf, names.length), fnTotal: grownTo(after.fnTotal, names.length) };
	const children = new Map();
	const keyOf = (parent, fn) => parent * names.length + fn;
	const nodeOfBase = new Uint32Array(base.n);

	for (const name of ["fn", "parent", "self", "total"])
		union[name].set(after[name]);
	for (let i = 0; i < after.n; i++) {
		union.pruned[i] = after.start[i] + after.total[i] - after.self[i] - after.kidsEnd[i];
		if (i > 0)
			children.set(keyOf(after.parent[i], after.fn[i]), i);
	}
	for (let i = 0; i < base.n; i++) {
		const parent = i > 0 ? nodeOfBase[base.parent[i]] : -1;
		const fn = ofBase[base.fn[i]];
		let node = i > 0 ? children.get(keyOf(parent, fn)) : 0;
		if (node === undefined) {
			node = union.n++;
			union.fn[node] = fn;
			union.parent[node] = parent;
			children.set(keyOf(parent, fn), node);
		}
		nodeOfBase[i] = node;
		union.baseSelf[node] += base.self[i];
		union.baseTotal[node] += base.total[i];
	}
	return union;
}

function grownTo(values, length) {
	const grown = new Float64Array(length);
	grown.set(values);
	return grown;
}

/* A frame is as wide as its self value and its callees; one that vanished is as wide as it was. */
function addWidths(union, scale) {
	const { n, parent, self, total, baseSelf, pruned } = union;

	union.width = new Float64Array(n);
	for (let i = n - 1; i >= 0; i--) {
		union.width[i] += total[i] > 0 ? self[i] + Math.max(0, pruned[i]) : baseSelf[i] * scale;
		if (parent[i] >= 0)
			union.width[parent[i]] += union.width[i];
	}
}

/* Sorts the nodes depth-first, children by falling width. */
function treeOf(union) {
	const { n, parent, width } = union;
	const [first, next] = [new Int32Array(n).fill(-1), new Int32Array(n).fill(-1)];
	const children = [...Array(n).keys()].slice(1).sort((a, b) => width[a] - width[b] || b - a);
	const order = [];
	const placeOf = new Int32Array(n);

	for (const child of children) { /* the widest becomes the first */
		next[child] = first[parent[child]];
		first[parent[child]] = child;
	}
	for (let node = 0; node >= 0;) {
		placeOf[node] = order.length;
		order.push(node);
		let at = node;
		node = first[at];
		while (node < 0 && at > 0) {
			node = next[at];
			at = parent[at];
		}
	}
	const column = (name, Type) => Type.from(order, (node) => union[name][node]);
	return { n, names: union.names, types: union.types, fnSelf: union.fnSelf, fnTotal: union.fnTotal, fn: column("fn", Uint32Array),
		parent: Int32Array.from(order, (node) => node > 0 ? placeOf[parent[node]] : -1), self: column("self", Float64Array),
		total: column("total", Float64Array), width: column("width", Float64Array), baseSelf: column("baseSelf", Float64Array),
		baseTotal: column("baseTotal", Float64Array), start: new Float64Array(n), depth: new Uint16Array(n), end: new Uint32Array(n),
		kidsEnd: new Float64Array(n) };
}

export function isDifference(tree) {
	return tree.baseTotal !== undefined;
}

export function stateOf(tree, node) {
	if (tree.baseTotal[node] === 0)
		return APPEARED;
	return tree.total[node] === 0 ? VANISHED : BOTH;
}

/* Returns both values as parts of one whole: shares of each profile, or values per second by the base's whole. */
function partsOf(tree, node, isAbsolute) {
	const baseWhole = tree.baseTotal[0] || 1;

	if (!isAbsolute)
		return [tree.baseTotal[node] / baseWhole, tree.total[node] / (tree.total[0] || 1)];
	return [tree.baseTotal[node] / baseWhole, tree.total[node] / tree.seconds * tree.baseSeconds / baseWhole];
}

/* Returns the number of the colour: -STEPS (half or less) to STEPS (double or more). */
export function stepOf(tree, node, isAbsolute) {
	const [before, after] = partsOf(tree, node, isAbsolute);
	const change = Math.log2((after + PALE_SHARE) / (before + PALE_SHARE)) / FULL_LOG2;

	return Math.round(STEPS * Math.min(1, Math.max(-1, change)));
}

/* Returns "+12 %", "new" or "gone". */
export function changeText(tree, node, isAbsolute) {
	const [before, after] = partsOf(tree, node, isAbsolute);
	const state = stateOf(tree, node);

	if (state !== BOTH)
		return state === APPEARED ? "new" : "gone";
	const percent = 100 * (after / before - 1);
	const sign = percent < 0 ? "−" : "+";
	return percent >= 1000 ? `×${(after / before).toFixed(0)}` : `${sign}${Math.abs(percent).toFixed(Math.abs(percent) < 10 ? 1 : 0)} %`;
}

/* Returns the facts of a frame for the tooltip: [[name, value], ...]. */
export function differenceFacts(tree, node, event, isAbsolute) {
	const [before, after] = partsOf(tree, node, isAbsolute);
	const points = 100 * (after - before);
	const value = (amount, whole) => `${formatValue(event, amount)} (${formatShare(amount, whole)})`;

	return [["Change", `${changeText(tree, node, isAbsolute)} (${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(2)} ${
		isAbsolute ? "% of all, per second" : "points"})`],
	["Before", value(tree.baseTotal[node], tree.baseTotal[0])], ["After", value(tree.total[node], tree.total[0])],
	["Self before", value(tree.baseSelf[node], tree.baseTotal[0])], ["Self after", value(tree.self[node], tree.total[0])]];
}

/* Returns a line on a frame for the bar below the graph and for screen readers. */
export function differenceSentence(tree, node, event, isAbsolute) {
	const facts = differenceFacts(tree, node, event, isAbsolute).slice(0, 3);

	return `${labelOf(tree, node)}${typeOf(tree, node) === "?" ? " (no name)" : ""} — ${
		facts.map(([name, text]) => `${name.toLowerCase()} ${text}`).join(", ")}`;
}
