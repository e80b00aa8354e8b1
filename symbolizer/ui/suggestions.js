/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Suggestions of the filter field: conditions on known hosts and labels, and on the tags that every process has. A
 * suggestion keeps the text up to the last AND or OR.
 */

import { fittingItems } from "./ranking.js";

const TAGS = ["app_service = ''", "thread LIKE '*'", "process_id = ", "service = ''", "version = ''", "container_id IS NOT NULL", "pod = ''",
	"pod_ns = ''", "host_ip = '10.0.0.0/8'"];
const MOST_OFFERED = 60;

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

/* Returns the conditions that the field suggests. @hosts: the list of GET /v1/hosts. */
export function conditionsOf(hosts) {
	const conditions = hosts.map(({ name }) => `host = ${quoted(name)}`);

	for (const { labels = {} } of hosts) {
		for (const [name, value] of Object.entries(labels)) {
			if (!/^(agent|kernel)\./.test(name))
				conditions.push(`${/^\w+$/.test(name) ? name : `\`${name}\``} = ${quoted(value)}`);
		}
	}
	return [...new Set([...conditions, ...TAGS])];
}

const TOKENS = /'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.|"")*"?|`[^`]*`?|[\w./-]+|\S/gs;

/*
 * Returns the offset of a filter's last condition. A condition begins after AND or OR between conditions, and after NOT or
 * '(' before one. The NOT of NOT LIKE and words in quotes are parts of a condition.
 */
function lastConditionAt(text) {
	let at = 0;
	let begins = true;

	for (const { 0: token, index } of text.matchAll(TOKENS)) {
		const end = index + token.length;
		const isWord = /[\s(]/.test(text[end] ?? ""); /* at the end of the text the word may be incomplete */
		const separates = begins ? token === "(" || (isWord && /^NOT$/i.test(token)) : isWord && /^(?:AND|OR)$/i.test(token);

		if (separates)
			at = end + /^\s*/.exec(text.slice(end))[0].length;
		begins = separates;
	}
	return at;
}

/* Returns texts for the whole field: the text before the last condition, and each condition that contains the typed part. */
export function filtersFor(text, conditions) {
	const at = lastConditionAt(text);
	const fitting = fittingItems(conditions.map((name) => ({ name })), text.slice(at).trim());

	return fitting.slice(0, MOST_OFFERED).map(({ name }) => text.slice(0, at) + name);
}

/* Calls @fetchHosts once, when the field gets the focus for the first time. */
export function suggestFilters(input, list, fetchHosts) {
	let conditions = null;
	const update = () => {
		list.replaceChildren(...filtersFor(input.value, conditions ?? TAGS).map((value) => new Option("", value)));
	};

	input.addEventListener("focus", async () => {
		if (conditions)
			return;
		conditions = conditionsOf([]);
		conditions = conditionsOf(await fetchHosts().catch(() => []));
		update();
	});
	input.addEventListener("input", update);
}
