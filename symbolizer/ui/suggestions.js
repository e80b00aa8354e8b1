/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the filter field offers: conditions on the hosts there are and their labels, and the tags that every process
 * has. What was typed up to the last AND or OR stays in front of them.
 */

const TAGS = ["app_service = ''", "thread LIKE '*'", "process_id = ", "service = ''", "version = ''", "container_id IS NOT NULL", "pod = ''",
	"pod_ns = ''", "host_ip = '10.0.0.0/8'"];
const MOST_OFFERED = 60;

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;

/* @hosts as GET /v1/hosts describes them. */
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

/* Whole texts of the field: what stands before the last condition, and each condition. */
export function filtersFor(text, conditions) {
	const [before] = /^.*\b(?:AND|OR|NOT)\s+/is.exec(text) ?? [""];

	return conditions.slice(0, MOST_OFFERED).map((condition) => before + condition);
}

/* @fetchHosts is called once, when the field is first used. */
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
