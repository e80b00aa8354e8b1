/* SPDX-License-Identifier: Apache-2.0 */

/* The source lines of a function with their values (GET /v1/source) in a dialog, which can show its instructions too. */

import { fetchSource, fetchSourceText } from "./api.js";
import { labelOf, typeOf } from "./columns.js";
import { actionButton, element } from "./element.js";
import { formatValue } from "./format.js";
import { instructionElements, loadInstructions, sumsText } from "./instructions.js";

/* Lines without a value that are shown before and after those with one. */
const CONTEXT_LINES = 3;

/*
 * Returns the button for a frame, of a server that can be asked: the source lines of a function with a name, or the
 * instructions of one of which only the address is known ("libz.so.1+0x5e20").
 */
export function linesButtons(tree, node, show) {
	const label = labelOf(tree, node);
	const type = typeOf(tree, node);

	if (node === 0 || "PTH".includes(type) || document.body.classList.contains("offline"))
		return [];
	if (type !== "?")
		return [actionButton("lines", "Lines", () => show(label, "source"))];
	return /\+0x[0-9a-f]+$/.test(label) ? [actionButton("lines", "Instructions", () => show(label, "instructions"))] : [];
}

export class LinesDialog {
	/* @parts: {dialog, title, sums, files, source, instructions, close} */
	constructor(parts) {
		this.parts = parts;
		this.abort = null;
		for (const view of ["source", "instructions"])
			parts[view].addEventListener("click", () => this.show(this.selection, this.label, view));
		parts.close.addEventListener("click", () => parts.dialog.close());
		parts.dialog.addEventListener("close", () => this.abort?.abort());
	}

	/* Shows the function with this label in the selection. @view: "source" or "instructions" */
	async show(selection, label, view) {
		const { dialog, title, sums, files } = this.parts;

		this.abort?.abort();
		this.abort = new AbortController();
		const { signal } = this.abort;

		Object.assign(this, { selection, label });
		for (const name of ["source", "instructions"])
			this.parts[name].setAttribute("aria-pressed", String(name === view));
		title.textContent = label;
		sums.textContent = "Loading…";
		files.replaceChildren();
		if (!dialog.open)
			dialog.showModal();
		try {
			const shown = view === "source" ? await loadLines(selection, label, signal) : await loadCode(selection, label, signal);

			sums.textContent = shown.sums;
			files.replaceChildren(...shown.content);
		} catch (error) {
			if (!signal.aborted)
				sums.textContent = error.message;
		}
	}
}

/* Both return {sums: text, content: elements}. */
async function loadLines(selection, label, signal) {
	const answer = await fetchSource(selection, label, signal);
	const texts = await Promise.all(answer.files.map((file) => fetchSourceText(file, signal)));

	return { sums: sumsText(answer, selection.event),
		content: answer.files.flatMap((file, i) => fileContent(file, texts[i], selection.event, answer.total_value)) };
}

async function loadCode(selection, label, signal) {
	const loaded = await loadInstructions(selection, label, signal);

	return { sums: sumsText(loaded.answer, selection.event), content: instructionElements(loaded, selection.event) };
}

function fileContent(file, text, event, whole) {
	const name = element("h3", "", file.file || "The source file is not known");
	const table = element("table", "lines-of-file", element("thead", "", element("tr", "", ...["Line", "Self", "Total", ""].map(head))),
		element("tbody", "", ...rowsOf(file.lines, text).map((row) => rowElement(row, event, whole))));

	if (!file.file)
		return [name, table];
	return [name, ...(text === null ? [element("p", "", "The text of this file was not uploaded: hearth upload --sources-of BUILD-ID.")] : []), table];
}

function head(text) {
	const cell = element("th", "", text);

	cell.scope = "col";
	return cell;
}

/* Returns {line, self_value, total_value, text}; {gap: true} stands for lines that are not shown. @text null: not known. */
export function rowsOf(lines, text) {
	const source = text === null ? [] : text.split("\n");
	const known = new Map(lines.map((line) => [line.line, line]));
	const shown = new Set(known.keys());
	const rows = [];

	for (const { line } of lines)
		for (let i = Math.max(1, line - CONTEXT_LINES); line > 0 && i <= Math.min(source.length, line + CONTEXT_LINES); i++)
			shown.add(i);
	for (const line of [...shown].sort((a, b) => a - b)) {
		const before = rows.at(-1)?.line ?? 0;

		if (before > 0 && line > before + 1)
			rows.push({ gap: true });
		rows.push({ line, self_value: 0, total_value: 0, ...known.get(line), text: source[line - 1] ?? "" });
	}
	return rows;
}

function rowElement(row, event, whole) {
	if (row.gap)
		return element("tr", "gap", element("td", "", "…"), element("td", ""), element("td", ""), element("td", ""));
	const value = (number) => element("td", "number", number > 0 ? formatValue(event, number) : "");
	const made = element("tr", row.total_value > 0 ? "hot" : "", element("td", "number", row.line || "?"), value(row.self_value), value(row.total_value),
		element("td", "code", row.text));

	made.style.setProperty("--heat", `${Math.round(whole > 0 ? 100 * Math.min(row.total_value / whole, 1) : 0)}%`);
	return made;
}
