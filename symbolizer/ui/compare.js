/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The controls of the difference graph (difference.js) and its legend. The choices are in the URL: base is "" (nothing),
 * "before" (the time of the same length directly before), "same" (the same time, of another service) or a duration;
 * base_service is "" for the same service; absolute compares values per second instead of shares.
 */

import { element } from "./element.js";
import { TOTAL } from "./header.js";
import { STEPS } from "./difference.js";

const $ = (id) => document.getElementById(id);

export function showCompare(state, services) {
	const names = [...new Set(services.map(({ name }) => name))].filter((name) => name !== TOTAL);
	const isOn = Boolean(state.base || state.base_service);

	$("base").value = state.base || (state.base_service ? "same" : "");
	$("base-service").value = state.base_service;
	$("base-service").hidden = $("absolute-toggle").hidden = !isOn;
	$("base-service").placeholder = state.service;
	$("absolute").checked = state.absolute;
	$("base-list").replaceChildren(...names.map((name) => {
		const option = element("option", "");
		option.value = name;
		return option;
	}));
}

/* Calls @select(changes) for another base, @redraw(changes) for another way to compare. */
export function listenToCompare(select, redraw) {
	$("base").addEventListener("change", (event) => select({ base: event.target.value,
		...(event.target.value ? {} : { base_service: "" }) }));
	$("base-service").addEventListener("change", (event) => select({ base_service: event.target.value.trim() }));
	$("absolute").addEventListener("change", (event) => redraw({ absolute: event.target.checked }));
}

/* Shows the colours in words, so that nobody needs to tell them apart. */
export function showDifferenceLegend(list, isAbsolute) {
	const what = isAbsolute ? "value per second" : "share";
	const swatch = (className) => element("span", `swatch ${className}`);
	const scale = element("li", "scale", `half the ${what}`, ...Array.from({ length: 2 * STEPS + 1 },
		(_, index) => swatch(`change-${index < STEPS ? "less" : index > STEPS ? "more" : "none"}-${Math.abs(index - STEPS)}`)), `double`);

	list.replaceChildren(scale, element("li", "", swatch("change-new"), "new"), element("li", "", swatch("change-gone"), "gone"));
}
