/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests to the server's API. Paths are relative to the page, so that the page also works if a proxy serves it below
 * a path prefix.
 */

import { parseAnswer, treeFromColumns } from "./columns.js";
import { serverOf, withServer } from "./commands.js";

const TOKEN_KEY = "hearth-token";
/* The server returns the groups with the largest values. Any further group has too small a share to be shown. */
const MOST_GROUPS = 10000;

export class ApiError extends Error {
	constructor(status, message) {
		super(message);
		this.status = status; /* HTTP status; 0: the server did not answer */
	}
}

/* Returns the query string with the state of the page. */
export function ownSearch() {
	return location.search;
}

export function setToken(token) {
	sessionStorage.setItem(TOKEN_KEY, token);
}

export function hasToken() {
	return sessionStorage.getItem(TOKEN_KEY) !== null;
}

async function request(path, options) {
	const headers = { ...options.headers };
	const token = sessionStorage.getItem(TOKEN_KEY);
	let response;

	if (token)
		headers.Authorization = `Bearer ${token}`;
	try {
		response = await fetch(path, { ...options, headers, cache: "no-store" });
	} catch (error) {
		if (error.name === "AbortError")
			throw error;
		throw new ApiError(0, "The server does not answer.");
	}
	if (!response.ok)
		throw new ApiError(response.status, await describe(response));
	return response;
}

/* Returns the error text of an answer in JSON or plain text. */
async function describe(response) {
	const text = await response.text().catch(() => "");

	try {
		const answer = JSON.parse(text);
		const words = answer.error ?? answer.message;
		if (typeof words === "string" && words)
			return words;
	} catch {
		if (text && text.length < 500)
			return text.trim();
	}
	return `${response.status} ${response.statusText}`.trim();
}

/* Returns the services with samples in the range: [{name, event, hosts, processes}], by name. */
export async function fetchServices(range, signal) {
	/* The API excludes the end of the range; the page includes the last second. */
	const query = new URLSearchParams({ since: range.since, until: range.until + 1 });
	const response = await request(`v1/services?${query}`, { signal });

	return (await response.json()).services ?? [];
}

/* Returns the hosts of GET /v1/hosts: those that sent samples. */
export async function fetchHosts() {
	const response = await request("v1/hosts", {});

	return (await response.json()).hosts ?? [];
}

/*
 * Returns coverage, losses and cost of the agents in the range: {hosts, not_seen, covered_s} of GET /v1/fleet. Adds
 * now_s, the time of the server's clock, because the times in the answer are of that clock too. If the range has too
 * many batches for the server, hosts is empty and error has the server's message. Other requests of the page may
 * succeed nevertheless.
 */
export async function fetchFleet(range, signal) {
	const query = new URLSearchParams({ since: range.since, until: range.until + 1 });

	try {
		const response = await request(`v1/fleet?${query}`, { signal });
		const now_s = Date.parse(response.headers.get("Date")) / 1000;
		return { ...await response.json(), now_s: now_s || Date.now() / 1000 };
	} catch (error) {
		if (error instanceof ApiError && error.status === 400)
			return { hosts: [], covered_s: 0, now_s: Date.now() / 1000, error: error.message };
		throw error;
	}
}

/*
 * Returns the CPU time of all processes, grouped by a tag, in microseconds: {values: Map from tag value to CPU time,
 * whole: CPU time of all groups, message}. If there are no samples, message has the reason.
 */
export async function fetchTotals(selection, groupBy, signal) {
	const query = new URLSearchParams({ group_by: groupBy, event: "on-cpu", since: selection.since, until: selection.until + 1,
		limit: MOST_GROUPS });

	if (selection.filter)
		query.set("filter", selection.filter);
	const { groups, total, message } = await (await request(`v1/groups?${query}`, { signal })).json();
	return { values: new Map(groups.map(({ name, value }) => [name ?? "", value])), whole: total, message };
}

/*
 * Returns the answer of GET /v1/unresolved: the files whose functions have no names. Returns null if there are none, or
 * if the server is too old to have that path.
 */
export async function fetchUnresolved(selection, signal) {
	const query = new URLSearchParams({ event: selection.event, since: selection.since, until: selection.until + 1 });

	if (selection.service)
		query.set("service", selection.service);
	if (selection.filter)
		query.set("filter", selection.filter);
	try {
		const answer = await (await request(`v1/unresolved?${query}`, { signal })).json();
		const own = serverOf(location);
		const files = (answer.files ?? []).map((file) => ({ ...file, command: withServer(file.command, own) }));
		return files.length > 0 ? { ...answer, files } : null;
	} catch (error) {
		if (error instanceof ApiError && error.status === 404)
			return null;
		throw error;
	}
}

/*
 * Returns the profile of a selection: {tree, description, stats, wait_ms}. wait_ms is the time from the request to the
 * parsed answer. If there are no samples, tree is null and description has the reason.
 */
export async function fetchProfile(selection, signal) {
	const started = performance.now();
	/* The API excludes the end of the range; the page includes the last second. */
	const query = new URLSearchParams({ service: selection.service, event: selection.event, since: selection.since,
		until: selection.until + 1, format: "columns" });

	if (selection.filter)
		query.set("filter", selection.filter);
	if (selection.fold)
		query.set("fold_threads", "true");
	if (selection.callers_of)
		query.set("callers_of", selection.callers_of);
	else if (selection.callees_of)
		query.set("callees_of", selection.callees_of);
	const response = await request(`v1/flame?${query}`, { signal });
	const { answer, nodes } = parseAnswer(await response.text());

	return {
		tree: answer.result?.functions ? treeFromColumns(answer.result, nodes) : null,
		description: answer.message,
		stats: statsOf(response.headers),
		wait_ms: performance.now() - started,
	};
}

function functionQuery(selection, label) {
	const query = new URLSearchParams({ service: selection.service, event: selection.event, since: selection.since,
		until: selection.until + 1, function: label });

	if (selection.filter)
		query.set("filter", selection.filter);
	return query;
}

/* Returns the answer of GET /v1/source: the lines of a function, by its label. */
export async function fetchSource(selection, label, signal) {
	return (await request(`v1/source?${functionQuery(selection, label)}`, { signal })).json();
}

/* Returns the answer of GET /v1/disassembly: the instructions of a function, by its label. */
export async function fetchDisassembly(selection, label, signal) {
	return (await request(`v1/disassembly?${functionQuery(selection, label)}`, { signal })).json();
}

/* Returns the text of a source file; null if it was not uploaded. */
export async function fetchSourceText({ file, build_id }, signal) {
	if (!build_id || !file.startsWith("/"))
		return null;
	try {
		return await (await request(`buildid/${build_id}/source${file.split("/").map(encodeURIComponent).join("/")}`, { signal })).text();
	} catch (error) {
		if (error instanceof ApiError)
			return null;
		throw error;
	}
}

/* Returns the selection as a file of GET /v1/export: {blob, name}. */
export async function fetchExport(selection, format) {
	const query = new URLSearchParams({ service: selection.service, event: selection.event, since: selection.since,
		until: selection.until + 1, format });

	if (selection.filter)
		query.set("filter", selection.filter);
	if (selection.fold)
		query.set("fold_threads", "true");
	const response = await request(`v1/export?${query}`, {});
	const name = /filename="([^"/]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
	return { blob: await response.blob(), name: name ? name[1] : `hearth.${format}` };
}

/* Converts headers: X-Hearth-Nodes-Pruned: 3 becomes {"nodes-pruned": 3}. */
function statsOf(headers) {
	const stats = {};

	for (const [name, value] of headers) {
		if (name.startsWith("x-hearth-"))
			stats[name.slice("x-hearth-".length)] = Number(value);
	}
	return stats;
}
