/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The parts of the page around the graph: figures, legend, path of the zoom, tooltip. These functions display their
 * arguments and keep no state.
 */

import { colourOf, functionValues, isOfHosts, labelOf, pathOf, typeOf } from "./columns.js";
import { element } from "./element.js";
import { formatCount, formatShare, formatTime, formatValue, isMemoryType, KINDS, shortName } from "./format.js";
import { reasonsOf } from "./names.js";
import { kindClass } from "./table.js";

const TOOLTIP_DISTANCE = 14; /* pixels from the pointer */

/* Shows the figures of the zoom above the graph. @profile: {tree, event, seconds, stats, wait_ms} */
export function showStats(list, profile, zoomed) {
	const { tree, event, seconds, stats } = profile;
	const value = tree.total[zoomed];
	const figures = [[isMemoryType(event) ? "Total" : "Time", formatValue(event, value),
		zoomed ? `of the zoom; ${formatValue(event, tree.total[0])} in all` : ""]];

	if (event === "on-cpu")
		figures.push(["CPUs", (value / 1e6 / seconds).toFixed(2),
			`average number of CPUs kept busy, over the ${formatTime(seconds * 1e6)} in which agents were sampling`]);
	figures.push(["Unresolved", formatShare(unresolvedWithin(profile, zoomed), value), unresolvedReasons(profile)]);
	if (!zoomed)
		figures.push(...figuresOfAll(stats, value));
	figures.push(["Answer", `${formatCount(tree.n)} nodes in ${formatTime(profile.wait_ms * 1e3)}`, ""]);

	list.replaceChildren(...figures.map(([name, text, title]) => {
		const pair = element("div", name === "Answer" ? "answer" : "", element("dt", "", name), element("dd", "", text));
		pair.title = title;
		return pair;
	}));
}

/* Returns the figures that the server counts for the whole answer only. */
function figuresOfAll(stats, whole) {
	const figures = [];

	if (stats.cut > 0)
		figures.push(["Cut short", formatShare(stats.cut, whole), "share of the value with a stack that could not be unwound to its outermost frame"]);
	if (Number.isFinite(stats.lost))
		figures.push(["Lost", formatCount(stats.lost), "samples that agents took but could not deliver"]);
	if (stats["nodes-pruned"] > 0)
		figures.push(["Pruned", formatCount(stats["nodes-pruned"]), "of the smallest frames, drawn as pale blocks"]);
	return figures;
}

/* Returns the reasons for missing names, with the server's figures. */
function unresolvedReasons({ stats, event }) {
	const reasons = reasonsOf(stats).map(([words, value]) => `${words}: ${formatValue(event, value)}`);

	return ["share of the value with an innermost frame that has no name", ...reasons].join("\n");
}

/* Returns the server's figure for the whole profile, if the answer has it; else the self values of frames without a name. */
export function unresolvedWithin({ tree, stats }, zoomed) {
	if (!zoomed && Number.isFinite(stats.unsymbolized))
		return stats.unsymbolized;
	const { self } = functionValues(tree, zoomed);
	return self.reduce((sum, value, fn) => sum + (tree.types[fn] === "?" ? value : 0), 0);
}

/* Shows @kinds of selfByKind(). A click calls @pick("kernel"). */
export function showLegend(list, kinds, whole, pick) {
	list.replaceChildren(...kinds.map(([type, value]) => {
		const button = element("button", `kind-${kindClass(type)}`, KINDS[type], element("span", "share", formatShare(value, whole)));
		button.type = "button";
		button.title = `Highlight ${KINDS[type]} frames`;
		button.addEventListener("click", () => pick(KINDS[type]));
		return element("li", "", button);
	}));
}

/* Shows the path from the root to the zoomed node. In Total, a button opens the profile of the process. */
export function showCrumbs(nav, list, tree, node, events) {
	const way = [];

	nav.hidden = node === 0;
	for (let at = node; at >= 0; at = tree.parent[at])
		way.unshift(at);
	list.replaceChildren(...way.map((at) => crumb(tree, at, at === node, events)));

	const process = pathOf(tree, node)[0];
	if (isOfHosts(tree) && process?.startsWith("[p] ")) {
		const open = element("button", "open", `Open ${process.slice(4)} →`);
		open.type = "button";
		open.addEventListener("click", () => events.open(process.slice(4)));
		list.append(element("li", "", open));
	}
	list.scrollLeft = list.scrollWidth;
}

function crumb(tree, node, isLast, events) {
	const name = shortName(labelOf(tree, node), typeOf(tree, node));

	if (isLast) {
		const last = element("span", "", name);
		last.setAttribute("aria-current", "location");
		return element("li", "", last);
	}
	const button = element("button", "", name);
	button.type = "button";
	button.addEventListener("click", () => events.zoom(node));
	return element("li", "", button);
}

/* Returns the facts of a frame for the tooltip: [[name, value], ...]. */
export function frameFacts(tree, node, event, zoomed) {
	const value = tree.total[node];
	const parent = tree.parent[node];
	const facts = [["Kind", KINDS[typeOf(tree, node)]], [isMemoryType(event) ? "Total" : "Time", formatValue(event, value)],
		["Of everything", formatShare(value, tree.total[0])]];

	if (zoomed > 0)
		facts.push(["Of the zoom", node >= zoomed ? formatShare(value, tree.total[zoomed]) : "–"]);
	if (parent >= 0)
		facts.push(["Of its caller", formatShare(value, tree.total[parent])]);
	facts.push(["Self", `${formatValue(event, tree.self[node])} (${formatShare(tree.self[node], tree.total[0])})`]);
	return facts;
}

export function showTooltip(tooltip, tree, node, facts, pointer) {
	const list = element("dl", "", ...facts.flatMap(([name, value]) => [element("dt", "", name), element("dd", "", value)]));

	tooltip.replaceChildren(element("p", `kind-${kindClass(colourOf(tree, tree.fn[node]))}`, labelOf(tree, node)), list);
	if (pointer.pointerType === "touch")
		tooltip.append(element("p", "hint", "Tap again to zoom."));
	tooltip.hidden = false;

	const { offsetWidth: width, offsetHeight: height } = tooltip;
	const x = pointer.clientX + TOOLTIP_DISTANCE;
	const y = pointer.clientY + TOOLTIP_DISTANCE;
	tooltip.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 8))}px`;
	tooltip.style.top = `${y + height > innerHeight - 8 ? Math.max(4, pointer.clientY - height - TOOLTIP_DISTANCE) : y}px`;
}

/* Returns a line on a frame for the bar below the graph and for screen readers. */
export function frameSentence(tree, node, event) {
	const caller = tree.parent[node] >= 0 ? `, ${formatShare(tree.total[node], tree.total[tree.parent[node]])} of its caller` : "";

	return `${labelOf(tree, node)} — ${formatValue(event, tree.total[node])}, ` +
		`${formatShare(tree.total[node], tree.total[0])} of everything${caller}, self ${formatValue(event, tree.self[node])}`;
}
