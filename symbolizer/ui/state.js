/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The state of the page. These values are also in the URL, so that a link shows another reader the same view:
 *
 *   service, event, last (or since and until, Unix seconds), filter, fold, live, search, sort, zoom, base, base_service,
 *   absolute (compare.js), callers_of, callees_of (side.js)
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
	base: "",
	base_service: "",
	absolute: false,
	callers_of: "",
	callees_of: "",
};

const UNITS = { s: 1, m: 60, h: 3600, d: 86400 };

/* Everything that changes while the page is open. app.js adds the views, and passes it to all its functions. */
export function newPage(search) {
	return {
		state: stateFromUrl(search),
		services: [],     /* of fetchServices() */
		totals: null,     /* of fetchTotals() by service, with the time at_s; null: not requested yet */
		profile: null,    /* the profile shown: {tree, selection, event, seconds, stats, wait_ms} */
		fleet: null,      /* the fleet shown instead of a profile: the data of showFleet() */
		unresolved: null, /* of fetchUnresolved() for the profile */
		zoomed: 0,        /* node */
		trail: [],        /* paths of earlier zooms, for Back */
		matches: [],      /* topmost matching nodes, the largest first */
		matchAt: -1,      /* index of the selected match in matches; -1: no match is selected */
		abort: null,      /* AbortController of the last request */
		nextTimer: 0,     /* timer of the next automatic request */
		gone_s: 0,        /* time of the first request without an answer; 0: the last one was answered */
	};
}

/* "15m" in seconds; 0 if @text is not a duration. */
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
	if (!/^(before|same)?$/.test(state.base) && !durationSeconds(state.base))
		state.base = "";
	return state;
}

/* Writes only the values that differ from the defaults, to keep links short. */
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

/* Writes the state to the URL. A page that was opened as a file may be forbidden to change it. */
export function rememberState(state, keepInHistory) {
	try {
		history[keepInHistory ? "pushState" : "replaceState"](null, "", urlFromState(state));
	} catch (error) {
		if (error.name !== "SecurityError")
			throw error;
	}
}

/*
 * Returns the column by which the table is sorted: the reader's choice, else self. For whole hosts the default is total,
 * because the self of a process does not include its other threads.
 */
export function sortOf(state, ofHosts) {
	if (state.sort === "self" || state.sort === "total")
		return state.sort;
	return ofHosts ? "total" : "self";
}

/* The part of the state that is sent to the server. The rest only changes how its answer is shown. */
const SELECTION = ["service", "event", "last", "since", "until", "filter", "fold", "base", "base_service", "callers_of", "callees_of"];

export function isOtherSelection(state, before) {
	return SELECTION.some((name) => state[name] !== before[name]);
}

/*
 * True if results for the selection @before (undefined: none) also apply to @selection. The mode "Live" sets
 * selection.continues: then the results also apply if only the time range differs.
 */
export function isSameSelection(before, selection) {
	const names = ["service", "event", "filter", "callers_of", "callees_of", ...(selection.continues ? [] : ["since", "until"])];

	return before !== undefined && names.every((name) => before[name] === selection[name]);
}

export function nowSeconds() {
	return Math.floor(Date.now() / 1000);
}

/* Returns {since, until} in Unix seconds. Only a relative range depends on @now_s. */
export function rangeOf(state, now_s) {
	if (state.since)
		return { since: state.since, until: state.until };
	return { since: now_s - durationSeconds(state.last), until: now_s };
}
