/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The list of hosts that send samples, and what their profiles miss. Agents report that by labels: agent.reduced has
 * what the agent has reduced to keep its budget, kernel.lacks has the features that its kernel does not have.
 */

import { element } from "./element.js";
import { formatTime } from "./format.js";

/* Hosts with notes first, each group by name. */
export function sortedHosts(hosts) {
	return [...hosts].sort((a, b) => (notesOf(b).length > 0) - (notesOf(a).length > 0) || a.name.localeCompare(b.name));
}

/* Sentences on what the profiles of @host miss. */
export function notesOf({ labels = {} }) {
	const notes = [];

	if (labels["agent.reduced"])
		notes.push(`reduced to keep its budget: ${labels["agent.reduced"]}`);
	if (labels["kernel.lacks"])
		notes.push(`its kernel lacks: ${labels["kernel.lacks"].replaceAll(",", ", ")}`);
	return notes;
}

/* @now_s: the time that ages are counted from. */
export function showHosts(body, text, hosts, now_s) {
	const n_noted = hosts.filter((host) => notesOf(host).length > 0).length;

	text.textContent = hosts.length === 0 ? "No host has sent samples to this server yet."
		: `${hosts.length} ${hosts.length === 1 ? "host has" : "hosts have"} sent samples; ` +
			`${n_noted === 0 ? "none" : n_noted} of them gives something up or lacks something.`;
	body.replaceChildren(...sortedHosts(hosts).map((host) => element("tr", "",
		element("td", "", host.name),
		element("td", "", String(host.cpus ?? "")),
		element("td", "", host.kernel_release ?? ""),
		element("td", "", `${formatTime(Math.max(0, now_s - (host.last_time ?? now_s)) * 1e6)} ago`),
		element("td", "", notesOf(host).join("; ")))));
}
