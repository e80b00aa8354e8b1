/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The fleet: the busiest services and hosts, the coverage, losses and cost of the agents, and the files without names.
 * These functions display their arguments and keep no state.
 */

import { actionButton, elided, element } from "./element.js";
import { formatAge, formatShare, formatTime } from "./format.js";
import { hostsByName, lossNotesOf, notesOf } from "./hosts.js";
import { foldSmall, rankServices } from "./ranking.js";
import { UNRESOLVED_S, unresolvedContent } from "./unresolved.js";

const SERVICES_SHOWN = 12;
const HOSTS_SHOWN = 12;
const SILENT_S = 90; /* the longest interval between an agent's batches is 60 s */

/*
 * @data: {byService and byHost of fetchTotals(), services, fleet, labels (hosts with labels), unresolved or null, selection,
 * expanded: a Set of the lists that are shown in full}
 * @events: {service(name), host(name), total()}
 */
export function showFleet(section, data, events) {
	const hosts = rankHosts(data);
	const parts = [summary(data, hosts)];

	parts.push(element("div", "cards", servicesCard(data, events), hostsCard(data, hosts, events)));
	if (data.unresolved)
		parts.push(unresolvedCard(data));
	section.replaceChildren(...parts);
}

/* Updates only the parts that depend on @data.unresolved, so that a focused button in the others keeps the focus. */
export function showUnresolvedOfFleet(section, data) {
	section.querySelector(".figures").replaceWith(summary(data, rankHosts(data)));
	section.querySelector(".unresolved-card")?.remove();
	if (data.unresolved)
		section.append(unresolvedCard(data));
}

/* Formats an average number of CPUs; "–" if no agent ran in the range. */
function formatCpus(cpu_us, covered_s) {
	return covered_s > 0 ? (cpu_us / 1e6 / covered_s).toFixed(2) : "–";
}

/* Formats a number of CPUs, which is a fraction if CPUs were added or removed in the range. */
function formatCpuCount(count) {
	return Number(count.toFixed(1)).toString();
}

/* Sorts hosts by CPU time, those without samples by the time of their last batch. */
function rankHosts({ fleet, byHost, labels, selection }) {
	const noted = new Map(labels.map((host) => [host.agent_id, notesOf(host)]));
	const range_s = Math.max(1, selection.until - selection.since);

	return hostsByName(fleet.hosts, range_s).map((host) => ({
		...host,
		value: byHost.values.get(host.name) ?? 0,
		age_s: fleet.now_s - host.last_time,
		isSilent: fleet.now_s - host.last_time > SILENT_S,
		covered: Math.min(1, host.covered_s / range_s),
		notes: [...lossNotesOf(host), ...(noted.get(host.agent_id) ?? [])],
	})).sort((a, b) => b.value - a.value || b.last_time - a.last_time);
}

const sumOf = (hosts, field) => hosts.reduce((sum, host) => sum + host[field], 0);
const lostOf = (host) => host.ticks_lost + host.ticks_missed;

/* The figures include only hosts with an agent that ran in the range: the others may no longer exist. */
function summary({ fleet, byService, unresolved }, hosts) {
	const covered = hosts.filter((host) => host.covered_s > 0);
	const n_now = covered.filter(({ isSilent }) => !isSilent).length;
	const n_before = hosts.length - covered.length + (fleet.not_seen ?? 0);
	const expected = sumOf(covered, "ticks_expected");
	const lost = covered.reduce((sum, host) => sum + lostOf(host), 0);
	const cost_us = sumOf(covered, "agent_cpu");
	const figures = fleet.error ? [] : [
		["Hosts", n_now === covered.length ? `${n_now} sampling` : `${n_now} of ${covered.length} sampling`,
			`hosts with a batch from their agent in the last ${SILENT_S} s, of the hosts with samples in the time range` +
			(n_before > 0 ? `; ${n_before} more have no samples in it` : "")],
		["CPUs busy", fleet.covered_s > 0
			? `${formatCpus(byService.whole, fleet.covered_s)} of ${formatCpuCount(sumOf(covered, "cpu_s") / fleet.covered_s)}` : "–",
			"average over the time in which at least one agent ran"],
		["Covered", formatShare(sumOf(covered, "covered"), covered.length),
			"share of the time range in which agents ran, averaged over the hosts with samples in it"],
		["Lost", formatShare(lost, expected), "share of the timer ticks that were not sampled, or were lost between kernel and agent"],
		["Cut short", formatShare(sumOf(covered, "stacks_cut"), sumOf(covered, "samples")),
			"share of the samples with a stack that could not be unwound to its outermost frame"],
		["Agents' cost", `${formatShare(cost_us, 1e6 * sumOf(covered, "counted_cpu_s"))} of all CPUs`,
			`${formatTime(cost_us)} of CPU time for agents, their BPF programs and helpers`],
	];

	if (unresolved && !unresolved.error)
		figures.push(["Unresolved", formatShare(unresolved.unresolved, unresolved.total),
			"share of the CPU time with an innermost frame that has no name"]);
	return element("dl", "figures", ...figures.map(([name, value, title]) => {
		const pair = element("div", "", element("dt", "", name), element("dd", "", value));
		pair.title = title;
		return pair;
	}));
}

/* @columns: [[name, class], ...] */
function tableOf(columns, rows) {
	const heads = columns.map(([name, className]) => {
		const cell = element("th", className, name);
		cell.scope = "col";
		return cell;
	});
	return element("table", "list", element("thead", "", element("tr", "", ...heads)), element("tbody", "", ...rows));
}

function cell(className, text, title = "") {
	const made = element("td", className, text);

	made.title = title;
	return made;
}

/* Makes a cell with a bar in the background that shows @share. */
function shareCell(text, share, title = "") {
	const made = cell("number barred", text, title);

	made.style.setProperty("--part", Math.min(1, share));
	return made;
}

function nameCell(name, open) {
	const made = element("td", "first");

	made.title = name;
	made.append(open ? actionButton("name-button", "", open) : element("span", "plain", elided(name)));
	if (open)
		made.firstElementChild.append(elided(name));
	return made;
}

/* Hides all rows but the first @shown, and returns a button that shows them; none if the list is expanded. */
function shorten(table, shown, noun, expanded) {
	const rows = [...table.tBodies[0].rows].slice(shown);
	const button = actionButton("more-rows", `Show ${rows.length} more ${noun}`, () => {
		for (const row of rows)
			row.hidden = false;
		expanded.add(noun);
		button.remove();
	});

	if (expanded.has(noun))
		return [];
	for (const row of rows)
		row.hidden = true;
	return rows.length > 0 ? [button] : [];
}

function servicesCard(data, events) {
	const { fleet } = data;
	const { listed, n_folded } = foldSmall(rankServices(data.services, data.byService));
	const rows = listed.map(({ name, value, share, hosts, events: types, last_time }) => element("tr", "",
		nameCell(name, types.length > 0 ? () => events.service(name) : null),
		shareCell(formatShare(share, 1), share, `${formatTime(value)} of CPU time`),
		cell("number", formatCpus(value, fleet.covered_s)),
		cell("number", hosts ? String(hosts) : ""),
		cell("number", last_time ? `${formatAge(fleet.now_s - last_time)} ago` : "",
			types.length > 0 ? "" : "excluded from profiling by the agents' on_cpu.regex")));
	const table = tableOf([["Service", "first"], ["CPU", "number share-column"], ["CPUs", "number"], ["Hosts", "number"],
		["Last seen", "number"]], rows);
	const children = [cardHead("Busiest services", actionButton("", "All in one flame graph", events.total)), table,
		...shorten(table, SERVICES_SHOWN, "services", data.expanded)];

	if (rows.length === 0)
		children.splice(1, 1, element("p", "none", "No samples in this time range."));
	if (n_folded > 0)
		children.push(element("p", "folded", `${n_folded} more with less than 0.05 % of the CPU time each: type their name in the service list.`));
	return element("section", "card services", ...children);
}

function cardHead(title, ...tools) {
	return element("div", "card-head", element("h2", "", title), ...tools);
}

function hostsCard(data, hosts, events) {
	const rows = hosts.map((host) => {
		const cpuCount = formatCpuCount(host.cpus);
		const row = element("tr", host.isSilent ? "silent" : "",
			nameCell(host.name, host.value > 0 ? () => events.host(host.name) : null),
			shareCell(host.covered_s > 0 ? `${formatCpus(host.value, host.covered_s)} of ${cpuCount}` : `– of ${cpuCount}`,
				host.cpu_s > 0 ? host.value / 1e6 / host.cpu_s : 0, "CPUs kept busy, on average"),
			cell("number", formatShare(host.covered, 1), "share of the time range in which its agent ran"),
			cell("number", formatShare(lostOf(host), host.ticks_expected),
				`${host.ticks_missed} ticks not sampled, ${host.ticks_lost} lost, of ${host.ticks_expected}`),
			cell("number", formatShare(host.agent_cpu, 1e6 * host.counted_cpu_s), `${formatTime(host.agent_cpu)} in ${host.counted_s} s`),
			cell("number age", `${formatAge(host.age_s)} ago`));
		if (host.notes.length === 0)
			return [row];
		const note = element("td", "note-row", host.notes.join("; "));
		note.colSpan = 4; /* the number of columns on a phone */
		row.classList.add("noted");
		return [row, element("tr", "", note)];
	});
	const shown = rows.slice(0, HOSTS_SHOWN).flat().length;
	const table = tableOf([["Host", "first"], ["CPUs busy", "number share-column"], ["Covered", "number"], ["Lost", "number"],
		["Agent's cost", "number"], ["Last batch", "number"]], rows.flat());

	const body = data.fleet.error ? [element("p", "none", data.fleet.error)] : [table, ...shorten(table, shown, "hosts", data.expanded)];

	return element("section", "card hosts", cardHead("Busiest hosts"), ...body);
}

function unresolvedCard({ unresolved, selection }) {
	const scroll = element("div", "card-scroll", unresolvedContent(unresolved, true));
	const isPart = selection.until - selection.since > UNRESOLVED_S;

	scroll.tabIndex = 0;
	scroll.setAttribute("role", "group");
	scroll.setAttribute("aria-label", "Unresolved by file");
	return element("section", "card unresolved-card", cardHead(isPart ? "Unresolved by file, newest 15 minutes" : "Unresolved by file"), scroll);
}
