/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Replaces api.js in the file that GET /v1/export?format=html writes: the answer of the server is in the file, in the
 * element "profile". It has the members of GET /v1/flame, and the selection.
 */

import { parseAnswer, treeFromColumns } from "./columns.js";

/* The choices of the reader that links into the file may have. */
const OF_READER = ["search", "sort", "zoom"];

const { answer, nodes } = parseAnswer(document.getElementById("profile").textContent);

export class ApiError extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

export function setToken() {
}

export function hasToken() {
	return false;
}

/* The API excludes the end of the range; the page includes the last second. */
export function ownSearch() {
	const { service, event, since, until, filter } = answer;
	const query = new URLSearchParams({ service, event, since, until: until - 1, filter });
	const own = new URLSearchParams(location.search);

	for (const name of OF_READER) {
		if (own.has(name))
			query.set(name, own.get(name));
	}
	return `?${query}`;
}

export async function fetchServices() {
	return [{ name: answer.service, event: answer.event, hosts: 0, processes: 0 }];
}

export async function fetchHosts() {
	return [];
}

export async function fetchFleet() {
	throw new ApiError(404, "This file has one profile only.");
}

export async function fetchTotals() {
	throw new ApiError(404, "This file has one profile only.");
}

export async function fetchUnresolved() {
	return null;
}

export async function fetchProfile(selection) {
	if (selection.service !== answer.service)
		throw new ApiError(404, `This file has only the profile of ${answer.service}.`);
	return { tree: treeFromColumns(answer.result, nodes), description: answer.message, stats: answer.stats, wait_ms: 0 };
}

export async function fetchExport() {
	throw new ApiError(404, "This file cannot be exported again.");
}

export async function fetchSource() {
	throw new ApiError(404, "This file has no source lines.");
}

export async function fetchDisassembly() {
	throw new ApiError(404, "This file has no machine code.");
}

export async function fetchSourceText() {
	return null;
}

/* What the file shows, for its head. */
export function selectionText() {
	const time = (seconds) => new Date(1000 * seconds).toLocaleString("en-GB", { timeZoneName: "short" });
	const { service, event, since, until, filter } = answer;

	return [service, event, `${time(since)} – ${time(until)}`, filter].filter((part) => part).join(" · ");
}
