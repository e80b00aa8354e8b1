/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The keys of the page (docs/page.md). A key in a field, or Enter on a control, keeps its usual effect.
 */

const $ = (id) => document.getElementById(id);

/* @acts: {escape(target), back(), load(), nextMatch(step), hasGraph(), walk(event)} */
export function listenToKeys(acts) {
	document.addEventListener("keydown", (event) => {
		if (!event.ctrlKey && !event.metaKey && !event.altKey && handleKey(event, acts))
			event.preventDefault();
	});
}

/* Handles a key. Returns true if the browser must not handle it as well. */
function handleKey(event, acts) {
	const { key, target } = event;
	const inField = target.closest?.("input, textarea, dialog, .popup");
	const onControl = target.closest?.("button, summary, a");

	if (key === "Escape")
		acts.escape(target);
	else if (inField || (onControl && key === "Enter"))
		return false;
	else if (key === "/" && acts.hasGraph())
		goToSearch();
	else if (key === "Backspace")
		acts.back();
	else if (key === "r")
		acts.load();
	else if (key === "n" || key === "N")
		acts.nextMatch(key === "n" ? 1 : -1);
	else if (/^Arrow|^Enter$/.test(key) && target === document.body && acts.hasGraph())
		return goToGraph(event, acts);
	else
		return false;
	return true;
}

function goToSearch() {
	$("search").focus();
	$("search").select();
}

/* Moves the focus to the graph, which handles the key and prevents the default itself. */
function goToGraph(event, acts) {
	$("scroller").focus();
	acts.walk(event);
	return false;
}
