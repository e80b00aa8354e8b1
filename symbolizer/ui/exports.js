/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The menu "Export": the selection in the file formats of GET /v1/export. The page requests the file itself, because a
 * link cannot send the token.
 */

import { fetchExport } from "./api.js";
import { element } from "./element.js";

/* The formats of common/export_formats.def: [name, program that opens it]. */
export const FORMATS = [["pprof", "go tool pprof, Perfetto"], ["folded", "flamegraph.pl, inferno"], ["speedscope", "speedscope.app"],
	["gecko", "Firefox Profiler"], ["perfetto", "Perfetto: threads over time"],
	["autofdo", "clang -fprofile-sample-use"], ["json", "own programs"], ["csv", "spreadsheets: functions"], ["svg", "flame graph as a picture"],
	["html", "this graph in one file"]];

const $ = (id) => document.getElementById(id);

function save({ blob, name }) {
	const link = document.createElement("a");
	const address = URL.createObjectURL(blob);

	Object.assign(link, { href: address, download: name });
	link.click();
	setTimeout(() => URL.revokeObjectURL(address), 60000);
}

/* @selectionNow() returns the selection that the page shows; null: none. @failed(error) shows an error. */
export function listenToExports(selectionNow, failed) {
	const menu = $("export");

	$("export-formats").replaceChildren(...FORMATS.map(([name, opens]) => {
		const button = element("button", "", element("span", "", name), element("span", "note", opens));
		button.type = "button";
		button.dataset.format = name;
		button.addEventListener("click", async () => {
			menu.open = false;
			try {
				const selection = selectionNow();
				if (selection)
					save(await fetchExport(selection, name));
			} catch (error) {
				failed(error);
			}
		});
		return element("li", "", button);
	}));
	document.addEventListener("click", (event) => {
		if (!menu.contains(event.target))
			menu.open = false;
	});
	menu.addEventListener("keydown", (event) => {
		if (event.key !== "Escape" || !menu.open)
			return;
		menu.open = false;
		menu.firstElementChild.focus();
		event.stopPropagation();
	});
}
