/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Files with functions that have no names: the reasons and the remedies (GET /v1/unresolved).
 */

import { fetchUnresolved } from "./api.js";
import { command } from "./clipboard.js";
import { elided, element } from "./element.js";
import { formatShare } from "./format.js";

const BUILD_ID_SHOWN = 12; /* digits; all of them are in the title */

/* For the fleet, only the newest seconds of a range are requested, because the server reads the stacks of all services. */
export const UNRESOLVED_S = 900;

/*
 * The request for the list, which runs in parallel to the requests for the graph or the fleet and can take longer.
 * Automatic requests wait for @ended, so that only one runs at a time.
 */
export class UnresolvedRequest {
	constructor() {
		this.ended = Promise.resolve();
	}

	/* Calls @then with the answer of fetchUnresolved(), or {files: [], error} after an error; not if @signal is aborted. */
	start(selection, signal, then) {
		this.ended = fetchUnresolved(selection, signal).catch((error) => ({ files: [], error: error.message }))
			.then((answer) => signal.aborted || then(answer));
	}
}

/*
 * Returns the files that can contain an unresolved frame, by its label: "[/usr/lib/libz.so.1]", "libz.so.1+0x5e20",
 * "[k] [ext4]". Several files match if they differ only in build-ID or folder. Each file is returned once, with its
 * largest row.
 */
export function filesOfFrame(label, files) {
	const bare = label.replace(/^\[[lk]\] /, "");
	const base = /^(.+)\+0x[0-9a-f]+$/.exec(bare)?.[1];
	const fitting = files.filter(({ file }) => bare === `[${file}]` || (base !== undefined && baseName(file) === base));

	return [...new Map(fitting.reverse().map((row) => [keyOf(row), row])).values()].reverse();
}

/* A file has one row for each reason. */
function keyOf({ file, build_id }) {
	return `${file} ${build_id}`;
}

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1);
}

function wordsOf({ file, build_id }) {
	return build_id ? `${file} (build-ID ${build_id.slice(0, BUILD_ID_SHOWN)})` : file;
}

/* Returns facts for the tooltip of a frame, [[name, value], ...]; @files of filesOfFrame(). */
export function factsOfFiles(files) {
	const [file] = files;

	if (files.length === 0)
		return [];
	if (files.length > 1)
		return [["File", `one of ${files.map(wordsOf).join(", ")}`], ["Remedy", "the list above the graph has one for each of them"]];
	const facts = [["File", file.file], ["Build-ID", file.build_id || "none"], ["Unresolved", file.why]];

	if (file.command)
		facts.push(["Remedy", file.command]);
	else if (file.remedy)
		facts.push(["Remedy", file.remedy]);
	return facts;
}

/* Returns "86.0 % unresolved, in 3 files: why, and the remedies". The answer can have only the largest of its @count rows. */
export function unresolvedTitle({ files, count = files.length, total, unresolved, error }) {
	const n_files = new Set(files.map(keyOf)).size;

	if (error)
		return "The files of unresolved functions could not be listed";
	return `${formatShare(unresolved, total)} unresolved, ` + (count > files.length ? `the ${files.length} largest of ${count} causes`
		: `in ${n_files === 1 ? "one file" : `${n_files} files`}`) + ": why, and the remedies";
}

/* Returns the table, or the server's error. */
export function unresolvedContent(answer, withServices) {
	return answer.error ? element("p", "none", answer.error) : unresolvedTable(answer, withServices);
}

/* @withServices: with a column of services, for the fleet. */
function unresolvedTable(answer, withServices) {
	const heads = ["File", "Share", "Build-ID", "Why", "Remedy"];

	if (withServices)
		heads.push("Services");
	return element("table", "files", element("thead", "", element("tr", "", ...heads.map(head))),
		element("tbody", "", ...answer.files.map((file) => row(file, withServices))));
}

function head(text) {
	const cell = element("th", "", text);

	cell.scope = "col";
	return cell;
}

function row(file, withServices) {
	const name = element("td", "path", elided(file.file));
	const share = element("td", "number", formatShare(file.share, 1));
	const id = element("td", "id", file.build_id ? file.build_id.slice(0, BUILD_ID_SHOWN) : "none");
	const remedy = element("td", "remedy", ...(file.remedy ? [element("span", "", file.remedy)] : []),
		...(file.command ? [command(file.command)] : []));

	name.title = file.file;
	id.title = file.build_id;
	return element("tr", "", name, share, id, element("td", "why", file.why), remedy,
		...(withServices ? [element("td", "", (file.services ?? []).join(", "))] : []));
}
