/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Hosts joined by their names, and notes on incomplete profiles, from their losses and from labels of the hosts:
 * agent.reduced lists the reductions that keep the agent within its budget, kernel.lacks the features that the kernel does
 * not have.
 */

const SUMMED = ["counted_s", "ticks_expected", "ticks_lost", "ticks_missed", "samples", "stacks_cut", "agent_cpu"];

/* Adds the CPU seconds that the host had in the covered and in the counted seconds, the divisors of averages. */
function withCpuSeconds(host) {
	return { ...host, cpu_s: host.covered_s * host.cpus, counted_cpu_s: host.counted_s * host.cpus };
}

function merge(a, b, range_s) {
	const newest = a.last_time >= b.last_time ? a : b;
	const merged = { ...newest, covered_s: Math.min(range_s, a.covered_s + b.covered_s) };

	for (const field of [...SUMMED, "cpu_s", "counted_cpu_s"])
		merged[field] = a[field] + b[field];
	return merged;
}

/*
 * Joins the hosts of GET /v1/fleet that have the same name: an agent gets a new agent_id at each reboot, and other values
 * are known by name only.
 */
export function hostsByName(hosts, range_s) {
	const byName = new Map();

	for (const host of hosts.map(withCpuSeconds))
		byName.set(host.name, byName.has(host.name) ? merge(byName.get(host.name), host, range_s) : host);
	return [...byName.values()].map((host) => ({ ...host, cpus: host.covered_s > 0 ? host.cpu_s / host.covered_s : host.cpus }));
}

/* Returns the notes on a host's profiles. */
export function notesOf({ labels = {} }) {
	const notes = [];

	if (labels["agent.reduced"])
		notes.push(`reduced to keep its budget: ${labels["agent.reduced"]}`);
	if (labels["kernel.lacks"])
		notes.push(`its kernel lacks: ${labels["kernel.lacks"].replaceAll(",", ", ")}`);
	return notes;
}

const CUT_SHARE = 0.1; /* as the server's messages about profiles */
const CLOCK_OFF_MS = 2000;

/* Returns notes on the losses of a host of GET /v1/fleet, other than the ticks, which have a column. */
export function lossNotesOf({ losses = {}, samples = 0, stacks_cut = 0, batches_lost = 0, clock_offset_ms = 0 }) {
	const notes = [];

	if (losses.gap_s > 0)
		notes.push(`no agent for ${losses.gap_s} s`);
	if (batches_lost > 0)
		notes.push(`${batches_lost} batches are missing`);
	if (samples > 0 && stacks_cut / samples >= CUT_SHARE)
		notes.push(`${Math.round(100 * stacks_cut / samples)} % of the stacks end early`);
	if (losses.frequency_lowered_s > 0)
		notes.push(`frequency lowered for ${losses.frequency_lowered_s} s`);
	if (Math.abs(clock_offset_ms) >= CLOCK_OFF_MS)
		notes.push(`its clock is ${(Math.abs(clock_offset_ms) / 1000).toFixed(1)} s ${clock_offset_ms > 0 ? "ahead of" : "behind"} the server's`);
	return notes;
}
