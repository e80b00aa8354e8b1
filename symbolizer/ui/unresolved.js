/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Files whose functions have no names: why, and the command that mends it (GET /v1/unresolved).
 */

import { command } from "./clipboard.js";
import { elided, element } from "./element.js";
import { formatShare } from "./format.js";

const BUILD_ID_SHOWN = 12; /* digits; all of them are in the title */

/* The file that an unresolved frame lies in, or null: "[/usr/lib/libz.so.1]", "libz.so.1+0x5e20", "[k] [ext4]". */
export function fileOfFrame(label, files) {
	const bare = label.replace(/^\[[lk]\] /, "");
	const base = /^(.+)\+0x[0-9a-f]+$/.exec(bare)?.[1];

	return files.find(({ file }) => bare === `[${file}]` || (base !== undefined && baseName(file) === base)) ?? null;
}

function baseName(path) {
	return path.slice(path.lastIndexOf("/") + 1);
}

/* [[name, value], ...] to stand beside what is known of a frame. */
export function factsOfFile(file) {
	const facts = [["File", file.file], ["Build-ID", file.build_id || "none"], ["Unresolved", file.why]];

	if (file.command)
		facts.push(["Remedy", file.command]);
	else if (file.remedy)
		facts.push(["Remedy", file.remedy]);
	return facts;
}

/* "3 files, 86.0 % of the time unresolved" */
export function unresolvedTitle(answer) {
	const { files, total, unresolved } = answer;

	return `${formatShare(unresolved, total)} unresolved, in ${files.length === 1 ? "one file" : `${files.length} files`}: ` +
		"why, and the remedies";
}

/* @withServices: a column of them, for the fleet. */
export function unresolvedTable(answer, withServices) {
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
