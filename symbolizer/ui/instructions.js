/* SPDX-License-Identifier: Apache-2.0 */

/* The machine instructions of a function with their values (GET /v1/disassembly), for the dialog of lines.js. */

import { fetchDisassembly, fetchSourceText } from "./api.js";
import { actionButton, element } from "./element.js";
import { formatValue } from "./format.js";

/* Instructions without a value that are shown before and after those with one. */
const CONTEXT_ROWS = 4;

/* Source files whose text is fetched for one answer. */
const MAX_TEXTS = 20;

/* Returns {answer, texts}: texts is a Map from "BUILD-ID PATH" to the lines of a source file. */
export async function loadInstructions(selection, label, signal) {
	const answer = await fetchDisassembly(selection, label, signal);
	const wanted = new Map();

	for (const { build_id, places, instructions } of answer.files) {
		for (const { place, total_value } of instructions) {
			const path = total_value > 0 && places[place]?.file;

			if (path && wanted.size < MAX_TEXTS)
				wanted.set(`${build_id} ${path}`, { build_id, file: path });
		}
	}
	const texts = await Promise.all([...wanted.values()].map((file) => fetchSourceText(file, signal)));

	return { answer, texts: new Map([...wanted.keys()].map((key, i) => [key, texts[i]?.split("\n") ?? []])) };
}

/* Returns the sentence on the sums of an answer. */
export function sumsText(answer, event) {
	const inlined = answer.inlined_value > 0 ? `, ${formatValue(event, answer.inlined_value)} in functions that are inlined into it` : "";

	return `${formatValue(event, answer.self_value)} in its own code${inlined}, ` +
		`${formatValue(event, answer.total_value)} with the functions that it calls`;
}

/*
 * Divides the instructions into runs: {shown: [row, ...]} with those that have values and some around them, and
 * {hidden: [row, ...]} with the others. A run does not go beyond the end of a block of code.
 */
export function runsOf(instructions) {
	const near = new Set();
	const runs = [];

	instructions.forEach(({ total_value }, i) => {
		for (let k = i - CONTEXT_ROWS; total_value > 0 && k <= i + CONTEXT_ROWS; k++)
			near.add(k);
	});
	instructions.forEach((row, i) => {
		const name = near.has(i) ? "shown" : "hidden";
		const last = runs.at(-1);

		if (last?.[name] && last[name].at(-1).block === row.block)
			last[name].push(row);
		else
			runs.push({ [name]: [row] });
	});
	return runs;
}

/* Returns the elements of all files of an answer. */
export function instructionElements({ answer, texts }, event) {
	const whole = Math.max(...answer.files.flatMap(({ instructions }) => instructions.map(({ total_value }) => total_value ?? 0)), 1);

	return answer.files.flatMap((file) => {
		const body = element("tbody", "", ...runsOf(file.instructions).flatMap((run) => runElements(run, { file, texts, event, whole, function: answer.function })));
		const heads = ["Self", "Total", "Address", ""].map((text) => {
			const cell = element("th", "", text);

			cell.scope = "col";
			return cell;
		});

		return [element("h3", "", `${file.file || "Unknown file"}${file.machine ? `, ${file.machine}` : ""}`),
			...(file.message ? [element("p", "", file.message)] : []),
			element("table", "lines-of-file", element("thead", "", element("tr", "", ...heads)), body)];
	});
}

function runElements({ shown, hidden }, shownFile) {
	if (shown)
		return rowElements(shown, shownFile);
	const gap = element("tr", "gap", wideCell("", actionButton("", `… ${hidden.length} instructions`, () => {
		const rows = rowElements(hidden, shownFile);

		gap.replaceWith(...rows);
		rows[0].tabIndex = -1;
		rows[0].focus();
	})));

	return [gap];
}

function wideCell(className, ...children) {
	const cell = element("td", className, ...children);

	cell.colSpan = 4;
	return cell;
}

function rowElements(rows, { file, texts, event, whole, function: name }) {
	const made = [];
	let last;

	for (const row of rows) {
		const place = file.places[row.place];

		if (place && row.place !== last)
			made.push(element("tr", "place", wideCell("code", placeText(place, name, texts.get(`${file.build_id} ${place.file}`)))));
		last = row.place;
		made.push(instructionElement(row, event, whole));
	}
	return made;
}

/* "helper, work.c:12  the line", without the name of the selected function. */
function placeText({ function: name, file, line }, selected, lines) {
	const own = name === "" || name === selected.replace(/^\[.\] /, "");
	const text = lines?.[line - 1]?.trim();

	return `${own ? "" : `${name}, `}${file.split("/").at(-1) || "?"}${line > 0 ? `:${line}` : ""}${text ? `  ${text}` : ""}`;
}

function instructionElement(row, event, whole) {
	const value = (number) => element("td", "number", number > 0 ? formatValue(event, number) : "");
	const text = row.mnemonic ? `${row.mnemonic} ${row.operands}${row.target_function ? `  <${row.target_function}>` : ""}` : "";
	const made = element("tr", row.total_value > 0 ? "hot" : "", value(row.self_value), value(row.total_value), element("td", "number", row.address),
		element("td", "code", text));

	made.style.setProperty("--heat", `${Math.round(100 * (row.total_value ?? 0) / whole)}%`);
	return made;
}
