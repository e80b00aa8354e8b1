/* SPDX-License-Identifier: Apache-2.0 */

/* The callers or the callees of one function, instead of the whole profile: two values of the page's state. */

import { labelOf, typeOf } from "./columns.js";
import { actionButton } from "./element.js";

/* The values for the whole profile. Another one also has another zoom. */
export const WHOLE_PROFILE = { callers_of: "", callees_of: "", zoom: "" };

/* Returns the buttons for a frame. @select(changes) changes the selection. A file without a server cannot show another one. */
export function sideButtons(tree, node, select) {
	const name = labelOf(tree, node);

	if (node === 0 || "PTH".includes(typeOf(tree, node)) || document.body.classList.contains("offline"))
		return [];
	return [
		actionButton("side", "Callers", () => select({ ...WHOLE_PROFILE, callers_of: name })),
		actionButton("side", "Callees", () => select({ ...WHOLE_PROFILE, callees_of: name })),
	];
}

/* Shows in @line which side is shown, with a button for the whole profile. */
export function showSide(line, state, select) {
	const name = state.callers_of || state.callees_of;

	line.hidden = !name || !state.service;
	if (!name)
		return;
	line.replaceChildren(state.callers_of ? `Callers of ${name}, the innermost first. ` : `Callees of ${name}, of all its callers. `,
		actionButton("", "Show the whole profile", () => select(WHOLE_PROFILE)));
}
