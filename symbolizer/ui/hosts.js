/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hosts by their names, and what their profiles miss. Agents report that by labels: agent.reduced has what the agent has reduced to keep
 * its budget, kernel.lacks has the features that its kernel does not have.
 */

const ADDED = ["counted_s", "ticks_expected", "ticks_lost", "ticks_missed", "samples", "stacks_cut", "agent_cpu"];

/* What is added up for averages: CPU seconds there were, in the range and in the seconds that were counted. */
function withCpuSeconds(host) {
	return { ...host, cpu_s: host.covered_s * host.cpus, counted_cpu_s: host.counted_s * host.cpus };
}

function merge(a, b, range_s) {
	const newest = a.last_time >= b.last_time ? a : b;
	const merged = { ...newest, covered_s: Math.min(range_s, a.covered_s + b.covered_s) };

	for (const field of [...ADDED, "cpu_s", "counted_cpu_s"])
		merged[field] = a[field] + b[field];
	return merged;
}

/*
 * One row a name: an agent has another agent_id after each reboot, and values are known by name only. @hosts of
 * GET /v1/fleet.
 */
export function hostsByName(hosts, range_s) {
	const byName = new Map();

	for (const host of hosts.map(withCpuSeconds))
		byName.set(host.name, byName.has(host.name) ? merge(byName.get(host.name), host, range_s) : host);
	return [...byName.values()].map((host) => ({ ...host, cpus: host.covered_s > 0 ? host.cpu_s / host.covered_s : host.cpus }));
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
