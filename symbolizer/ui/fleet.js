/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The landing page: which services and hosts are busy, how completely they are covered, what their agents lost and
 * cost, and which files lack names. Shows what it is given and keeps nothing.
 */

import { actionButton, elided, element } from "./element.js";
import { formatAge, formatShare, formatTime } from "./format.js";
import { notesOf } from "./hosts.js";
import { foldSmall, rankServices, totalsByLabel } from "./ranking.js";
import { unresolvedTable } from "./unresolved.js";

const SERVICES_SHOWN = 12;
const HOSTS_SHOWN = 12;
const SILENT_S = 60; /* several batches */

/*
 * @data: {profile: {tree, stats} or null, services, fleet, labels (hosts with labels), unresolved or null, asked, now_s,
 * expanded: a Set of the lists that are shown whole}
 * @events: {service(name), host(name), total()}
 */
export function showFleet(section, data, events) {
	const totals = totalsByLabel(data.profile?.tree ?? null);
	const hosts = rankHosts(data, totals);
	const parts = [summary(data, totals, hosts)];

	parts.push(element("div", "cards", servicesCard(data, totals, events), hostsCard(data, totals, hosts, events)));
	if (data.unresolved)
		parts.push(unresolvedCard(data.unresolved));
	section.replaceChildren(...parts);
}

/* Seconds that averages divide by. */
export function coveredSeconds({ fleet, asked }) {
	return fleet.covered_s || Math.max(1, asked.until - asked.since);
}

/* The busiest first; those without samples by when they were last heard of. */
function rankHosts({ fleet, labels, asked, now_s }, totals) {
	const noted = new Map(labels.map((host) => [host.agent_id, notesOf(host)]));
	const range_s = Math.max(1, asked.until - asked.since);

	return fleet.hosts.map((host) => ({
		...host,
		value: totals.values.get(`[g] host=${host.name}`) ?? 0,
		age_s: now_s - host.last_time,
		isSilent: now_s - host.last_time > SILENT_S,
		covered: Math.min(1, host.covered_s / range_s),
		notes: noted.get(host.agent_id) ?? [],
	})).sort((a, b) => b.value - a.value || b.last_time - a.last_time);
}

const sumOf = (hosts, field) => hosts.reduce((sum, host) => sum + host[field], 0);
const lostOf = (host) => host.ticks_lost + host.ticks_missed;
const cpuTimeOf = (host) => host.counted_s * host.cpus * 1e6;

function summary(data, totals, hosts) {
	const there = hosts.filter((host) => host.covered_s > 0);
	const n_now = hosts.filter(({ isSilent }) => !isSilent).length;
	const expected = sumOf(there, "ticks_expected");
	const lost = there.reduce((sum, host) => sum + lostOf(host), 0);
	const cost_us = sumOf(there, "agent_cpu");
	const figures = [
		["Hosts", n_now === hosts.length ? `${hosts.length} sampling` : `${n_now} of ${hosts.length} sampling`,
			`hosts whose agent was heard of in the last ${SILENT_S} s`],
		["CPUs busy", `${(totals.whole / 1e6 / coveredSeconds(data)).toFixed(2)} of ${sumOf(there, "cpus")}`,
			"average over the time in which agents were sampling"],
		["Covered", formatShare(sumOf(hosts, "covered"), hosts.length),
			"share of the time range, over all hosts, in which their agents were sampling"],
		["Lost", formatShare(lost, expected), "share of the timer ticks that were not taken, or lost between kernel and agent"],
		["Cut short", formatShare(sumOf(there, "stacks_cut"), sumOf(there, "samples")),
			"share of the samples whose stack could not be followed to its outermost frame"],
		["Agents' cost", `${formatShare(cost_us, there.reduce((sum, host) => sum + cpuTimeOf(host), 0))} of all CPUs`,
			`${formatTime(cost_us)} of CPU time for agents, their BPF programs and helpers`],
	];

	if (data.unresolved)
		figures.push(["Unresolved", formatShare(data.unresolved.unresolved, data.unresolved.total),
			"share of the CPU time whose innermost frame has no name"]);
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

/* A share with a bar behind it. */
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

/* A body that shows its first rows, and a button for the others. */
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

function servicesCard(data, totals, events) {
	const { listed, n_folded } = foldSmall(rankServices(data.services, totals));
	const seconds = coveredSeconds(data);
	const rows = listed.map(({ name, value, share, hosts, events: types, last_time }) => element("tr", "",
		nameCell(name, types.length > 0 ? () => events.service(name) : null),
		shareCell(formatShare(share, 1), share, `${formatTime(value)} of CPU time`),
		cell("number", (value / 1e6 / seconds).toFixed(2)),
		cell("number", hosts ? String(hosts) : ""),
		cell("number", last_time ? `${formatAge(data.now_s - last_time)} ago` : "", types.length > 0 ? "" : "its stacks are not taken")));
	const table = tableOf([["Service", "first"], ["CPU", "number share-column"], ["CPUs", "number"], ["Hosts", "number"],
		["Last seen", "number"]], rows);
	const children = [cardHead("Busiest services", actionButton("", "All in one flame graph", events.total)), table,
		...shorten(table, SERVICES_SHOWN, "services", data.expanded)];

	if (rows.length === 0)
		children.splice(1, 1, element("p", "none", "No samples in this time range."));
	if (n_folded > 0)
		children.push(element("p", "folded", `${n_folded} more with less than 0.05 % of the CPU time: type their name in the service list.`));
	return element("section", "card services", ...children);
}

function cardHead(title, ...tools) {
	return element("div", "card-head", element("h2", "", title), ...tools);
}

function hostsCard(data, totals, hosts, events) {
	const rows = hosts.map((host) => {
		const cpus = host.value / 1e6 / Math.max(1, host.covered_s);
		const row = element("tr", host.isSilent ? "silent" : "",
			nameCell(host.name, host.value > 0 ? () => events.host(host.name) : null),
			shareCell(`${cpus.toFixed(2)} of ${host.cpus}`, cpus / Math.max(1, host.cpus), "CPUs kept busy, on average"),
			cell("number", formatShare(host.covered, 1), "share of the time range in which its agent was sampling"),
			cell("number", formatShare(lostOf(host), host.ticks_expected),
				`${host.ticks_missed} ticks not taken, ${host.ticks_lost} lost, of ${host.ticks_expected}`),
			cell("number", formatShare(host.agent_cpu, cpuTimeOf(host)), `${formatTime(host.agent_cpu)} in ${host.counted_s} s`),
			cell("number age", `${formatAge(host.age_s)} ago`));
		if (host.notes.length === 0)
			return [row];
		const note = element("td", "note-row", host.notes.join("; "));
		note.colSpan = 6;
		row.classList.add("noted");
		return [row, element("tr", "", note)];
	});
	const shown = rows.slice(0, HOSTS_SHOWN).flat().length;
	const table = tableOf([["Host", "first"], ["CPUs busy", "number share-column"], ["Covered", "number"], ["Lost", "number"],
		["Agent's cost", "number"], ["Last batch", "number"]], rows.flat());

	return element("section", "card hosts", cardHead("Busiest hosts"), table, ...shorten(table, shown, "hosts", data.expanded));
}

function unresolvedCard(answer) {
	const scroll = element("div", "card-scroll", unresolvedTable(answer, true));

	scroll.tabIndex = 0;
	scroll.setAttribute("role", "group");
	scroll.setAttribute("aria-label", "Unresolved by file");
	return element("section", "card unresolved-card", cardHead("Unresolved by file"), scroll);
}
