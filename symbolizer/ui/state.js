/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is looked at, as the URL holds it: a link shows the same view to somebody else.
 *
 *   service, event, last (or since and until, unix seconds), filter, fold, live, search, sort, zoom
 */

const DEFAULTS = {
	service: "",
	event: "on-cpu",
	last: "15m",
	since: 0,
	until: 0,
	filter: "",
	fold: false,
	live: false,
	search: "",
	sort: "",
	zoom: "",
};

const UNITS = { s: 1, m: 60, h: 3600, d: 86400 };

/* "15m" in seconds; 0 for what is no duration. */
export function durationSeconds(text) {
	const match = /^(\d{1,6})([smhd])$/.exec(text);
	return match ? Number(match[1]) * UNITS[match[2]] : 0;
}

export function stateFromUrl(search) {
	const parameters = new URLSearchParams(search);
	const state = { ...DEFAULTS };

	for (const [name, fallback] of Object.entries(DEFAULTS)) {
		const text = parameters.get(name);
		if (text === null)
			continue;
		if (typeof fallback === "boolean")
			state[name] = text === "1";
		else if (typeof fallback === "number")
			state[name] = Number.isSafeInteger(Number(text)) ? Number(text) : fallback;
		else
			state[name] = text;
	}
	if (!durationSeconds(state.last))
		state.last = DEFAULTS.last;
	if (!(state.since > 0 && state.until >= state.since))
		state.since = state.until = 0;
	return state;
}

/* Only what differs from the defaults, so that links stay short. */
export function urlFromState(state) {
	const parameters = new URLSearchParams();

	for (const [name, fallback] of Object.entries(DEFAULTS)) {
		if (state[name] === fallback || (name === "last" && state.since))
			continue;
		parameters.set(name, typeof fallback === "boolean" ? "1" : String(state[name]));
	}
	const text = parameters.toString();
	return text ? `?${text}` : "./";
}

/*
 * What the table is sorted by: the reader's choice, else self, but total for the processes of whole hosts, whose self
 * lacks their other threads.
 */
export function sortOf(state, ofHosts) {
	if (state.sort === "self" || state.sort === "total")
		return state.sort;
	return ofHosts ? "total" : "self";
}

/* What the server is asked for: the rest of the state only shows its answer in another way. */
const SELECTION = ["service", "event", "last", "since", "until", "filter", "fold"];

export function isOtherQuestion(state, before) {
	return SELECTION.some((name) => state[name] !== before[name]);
}

/*
 * Whether what is known for the selection @before (undefined: nothing) is of use for @asked. With the mark goesOn the
 * question is that of @before for a later range, as in Live.
 */
export function isSameSelection(before, asked) {
	const names = ["service", "event", "filter", ...(asked.goesOn ? [] : ["since", "until"])];

	return before !== undefined && names.every((name) => before[name] === asked[name]);
}

export function nowSeconds() {
	return Math.floor(Date.now() / 1000);
}

/* {since, until} in unix seconds; @now_s only matters for a relative range. */
export function rangeOf(state, now_s) {
	if (state.since)
		return { since: state.since, until: state.until };
	return { since: now_s - durationSeconds(state.last), until: now_s };
}
