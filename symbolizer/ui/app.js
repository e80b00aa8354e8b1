/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The page: state (also in the URL) → question to the server → tree → graph, table, figures.
 *
 * load() asks again when the selection changed; render() only shows the answer there is in another way.
 */

import { ApiError, fetchHosts, fetchProfile, fetchServices, hasToken, setToken } from "./api.js";
import { functionValues, hashOfPath, isOfHosts, matchFunctions, nodeAt, nodeOfHash, pathOf, selfByKind, sumOfTotals,
	topmostMatches } from "./columns.js";
import { FlameView } from "./flame.js";
import { formatShare, formatValue } from "./format.js";
import { showHosts } from "./hosts.js";
import { Patience, showNames } from "./names.js";
import { frameFacts, frameSentence, showCrumbs, showLegend, showNotice, showStats, showTooltip, unsymbolized } from "./panels.js";
import { Picker } from "./picker.js";
import { durationSeconds, rangeOf, sortOf, stateFromUrl, urlFromState } from "./state.js";
import { FunctionTable } from "./table.js";

const LIVE_MS = 10000;
const EVENT_ORDER = ["on-cpu", "off-cpu", "run-queue", "on-gpu", "mem-alloc", "mem-inuse", "hbm-alloc", "hbm-inuse", "rdma"];
const SELECTION = ["service", "event", "last", "since", "until", "filter", "fold"]; /* what the server is asked for */
const TOTAL = "Total";

const $ = (id) => document.getElementById(id);

let state = stateFromUrl(location.search);
let services = [];
let profile = null;  /* {tree, event, seconds, stats, wait_ms} of what is shown */
let zoomed = 0;
let trail = [];	     /* paths zoomed to before, for Back */
let matches = [];    /* topmost matching nodes, largest first */
let matchAt = -1;
let request = null;  /* AbortController of the question under way */
let nextTimer = 0;
const patience = new Patience();

const flame = new FlameView($("scroller"), $("canvas"), $("height"), {
	hover: (node, pointer) => showTooltip($("tooltip"), profile.tree, node, frameFacts(profile.tree, node, profile.event, zoomed), pointer),
	leave: () => { $("tooltip").hidden = true; },
	select: (node) => { $("frame-text").textContent = frameSentence(profile.tree, node, profile.event); },
	zoom: (node) => zoomTo(node),
});

const table = new FunctionTable($("functions"), $("more"), { self: $("sort-self"), total: $("sort-total") }, {
	sort: (by) => change({ sort: by }, showTable),
	pick: (label) => isOfHosts(profile.tree) ? chooseService(label.slice("[p] ".length))
		: search(state.search === `"${label}"` ? "" : `"${label}"`),
});

const picker = new Picker({ button: $("service-button"), label: $("service-name"), popup: $("service-popup"),
	search: $("service-search"), list: $("service-list") }, (name) => chooseService(name));

/* Takes over changes of the state and shows them in the URL. */
function change(changes, then, keepInHistory = false) {
	state = { ...state, ...changes };
	history[keepInHistory ? "pushState" : "replaceState"](null, "", urlFromState(state));
	then();
}

function ask(changes) {
	change(changes, load, true);
}

/* ---- asking ---- */

async function load() {
	patience.begin();
	await question({ ...state, ...rangeOf(state, Math.floor(Date.now() / 1000)) });
}

/* The same once more, for the names: what is shown stays when it fails. */
async function askForNames(asked) {
	await question(asked, () => {
		patience.end();
		showNamesLine();
	});
}

async function question(asked, failed = showError) {
	const range = { since: asked.since, until: asked.until };

	clearTimeout(nextTimer);
	request?.abort();
	request = new AbortController();
	const { signal } = request;
	$("progress").hidden = false;
	showControls();
	try {
		services = await fetchServices(range, signal);
		if (!asked.service)
			asked.service = TOTAL;
		showControls();
		show(asked, await fetchProfile(asked, signal));
	} catch (error) {
		if (error.name === "AbortError")
			return;
		failed(error);
	}
	$("progress").hidden = true;
	planNext(asked);
}

/* Again in a while: everything where that is wanted, the same where names are on their way. */
function planNext(asked) {
	const names_ms = profile?.stats["tables-pending"] > 0 ? patience.next() : null;

	clearTimeout(nextTimer);
	if (names_ms !== null)
		later(names_ms, () => askForNames(asked));
	else if (state.live && !state.since)
		later(LIVE_MS, load);
	if (profile)
		showNamesLine();
}

/* Nobody looks at a hidden page. */
function later(wait_ms, then) {
	nextTimer = setTimeout(() => (document.hidden ? later(wait_ms, then) : then()), wait_ms);
}

function showNamesLine() {
	const { tree, stats } = profile;

	showNames($("names"), { unsymbolized: unsymbolized(profile), whole: tree.total[0], stats }, patience, load);
}

function show(asked, answer) {
	const zoomPath = profile && state.zoom ? pathOf(profile.tree, zoomed) : null;

	$("filter-error").hidden = true;
	if (!answer.tree) {
		profile = null;
		render();
		showEmpty(asked, answer.description);
		return;
	}
	const { tree } = answer;
	profile = { tree, event: asked.event, seconds: Math.max(1, asked.until - asked.since), stats: answer.stats,
		wait_ms: answer.wait_ms };
	$("notice").hidden = true;
	zoomed = zoomPath ? nodeAt(tree, zoomPath) : nodeOfHash(tree, state.zoom);
	change({ zoom: hashOfPath(tree, zoomed) }, render);
}

/* ---- showing ---- */

function render() {
	const tree = profile?.tree ?? null;

	document.title = state.service ? `${state.service} · ${state.event} · Hearth` : "Hearth";
	document.body.classList.toggle("no-profile", !tree);
	$("tooltip").hidden = true;
	flame.setTree(tree, tree ? zoomed : 0);
	if (!tree) {
		for (const id of ["stats", "legend"])
			$(id).replaceChildren();
		$("names").hidden = true;
		$("crumbs").hidden = true;
		$("match").textContent = "";
		table.clear();
		return;
	}
	showStats($("stats"), profile);
	showZoom();
}

function showZoom() {
	const { tree } = profile;
	const values = functionValues(tree, zoomed);

	showCrumbs($("crumbs"), $("crumb-list"), tree, zoomed, { zoom: zoomTo, open: chooseService });
	showLegend($("legend"), isOfHosts(tree) ? [] : selfByKind(tree, values), tree.total[zoomed], (kind) => search(`kind:${kind}`));
	showMatches();
}

function showMatches() {
	const { tree, event } = profile;
	const output = $("match");
	let selected = null;

	matchAt = -1;
	try {
		selected = matchFunctions(tree, state.search);
		output.classList.remove("wrong");
	} catch (error) {
		output.classList.add("wrong");
		output.textContent = "not a regular expression";
		output.title = error.message;
	}
	flame.setMatches(selected);
	if (selected) {
		matches = topmostMatches(tree, selected, zoomed);
		const sum = sumOfTotals(tree, matches);
		output.textContent = matches.length ? `${formatShare(sum, tree.total[zoomed])} matched` : "no match";
		output.title = `${formatValue(event, sum)} in ${matches.length} frames`;
		matches.sort((a, b) => tree.total[b] - tree.total[a]);
	} else {
		matches = [];
		if (!state.search)
			output.textContent = "";
	}
	showTable(selected);
}

function showTable(selected = matchFunctions(profile.tree, state.search)) {
	const { tree, event } = profile;

	table.show({ tree, event, by: sortOf(state, isOfHosts(tree)), matches: selected, values: functionValues(tree, zoomed),
		whole: tree.total[zoomed] });
	$("table-title").textContent = isOfHosts(tree) ? "Top processes" : "Top functions";
	$("table-column").textContent = isOfHosts(tree) ? "Process" : "Function";
	$("table-scope").textContent = zoomed ? "within the zoom" : "";
}

function showControls() {
	picker.setChoice(state.service || TOTAL);
	picker.setItems([{ name: TOTAL, note: "every process" }, ...serviceItems()]);
	showEvents();
	const range = state.since ? "custom" : state.last;
	for (const radio of document.querySelectorAll("input[name=range]"))
		radio.checked = radio.value === range;
	$("custom").hidden = !state.since;
	if (state.since) {
		$("since").value = localTime(state.since);
		$("until").value = localTime(state.until);
	}
	$("filter").value = state.filter;
	$("search").value = state.search;
	$("fold").checked = state.fold;
	$("live").checked = state.live;
	$("live").disabled = state.since > 0;
}

function serviceItems() {
	const byName = new Map();

	for (const { name, event, hosts } of services) {
		const item = byName.get(name) ?? { name, hosts: 0, events: [] };
		item.hosts = Math.max(item.hosts, hosts);
		item.events.push(event);
		byName.set(name, item);
	}
	return [...byName.values()].map(({ name, hosts }) => ({ name, note: hosts === 1 ? "1 host" : `${hosts} hosts` }));
}

/* The types that the service has, and the chosen one in any case. */
function showEvents() {
	const service = state.service || TOTAL;
	const there = new Set(service === TOTAL ? ["on-cpu"] : services.filter(({ name }) => name === service).map(({ event }) => event));

	there.add(state.event);
	const fieldset = $("events");
	const labels = EVENT_ORDER.filter((event) => there.has(event)).map((event) => {
		const label = document.createElement("label");
		const radio = document.createElement("input");
		const text = document.createElement("span");
		Object.assign(radio, { type: "radio", name: "event", value: event, checked: event === state.event });
		text.textContent = event;
		label.append(radio, text);
		return label;
	});
	const key = labels.map((label) => label.textContent).join();
	if (fieldset.dataset.key !== key) {
		fieldset.replaceChildren(fieldset.firstElementChild, ...labels);
		fieldset.dataset.key = key;
	}
	for (const radio of fieldset.querySelectorAll("input"))
		radio.checked = radio.value === state.event;
}

/* "2026-08-21T09:30:00" in local time, as datetime-local wants it. */
function localTime(unix_s) {
	const date = new Date((unix_s - new Date(unix_s * 1000).getTimezoneOffset() * 60) * 1000);
	return date.toISOString().slice(0, 19);
}

/* ---- when there is no graph ---- */

function showEmpty(asked, description) {
	if (services.length === 0 && !asked.filter) {
		showNotice($("notice"), {
			title: "No samples in this time range",
			text: description,
			hints: ["Run an agent on each host that you want to see; it needs root. On this host:"],
			code: `sudo hearth-agent --server ${location.origin}`,
			action: ["Look again", load],
		});
		return;
	}
	const hints = [];
	if (asked.filter)
		hints.push("The filter may leave nothing over.");
	if (durationSeconds(state.last) < 86400 && !state.since)
		hints.push("A longer time range may show more.");
	showNotice($("notice"), {
		title: `Nothing to show for ${asked.service}`,
		text: description,
		hints,
		action: asked.filter ? ["Clear the filter", () => ask({ filter: "" })] : ["Show the last 24 h", () => ask({ last: "24h", since: 0, until: 0 })],
	});
}

function showError(error) {
	profile = null;
	render();
	if (error instanceof ApiError && error.status === 401) {
		$("notice").hidden = true;
		askForToken(error.message);
		return;
	}
	const ofFilter = error instanceof ApiError && error.status === 400 && /tag_filter/.test(error.message);
	$("filter-error").hidden = !ofFilter;
	$("filter-error").textContent = ofFilter ? error.message : "";
	$("filter").setAttribute("aria-invalid", String(ofFilter));
	showNotice($("notice"), {
		isError: true,
		title: ofFilter ? "The filter is not understood" : titleOf(error),
		text: error.message,
		action: ofFilter ? ["Clear the filter", () => ask({ filter: "" })] : ["Try again", load],
	});
}

function titleOf(error) {
	if (!(error instanceof ApiError))
		return "The answer could not be shown";
	if (error.status === 0)
		return "No connection";
	if (error.status === 403)
		return "This token may not read profiles";
	return error.status < 500 ? "The server refused the question" : "The server failed";
}

function askForToken(message) {
	$("token-reason").textContent = hasToken() ? `The server did not accept the token: ${message}`
		: "Enter one with the scope “read”. It is kept in this tab only.";
	$("token").value = "";
	if (!$("token-dialog").open)
		$("token-dialog").showModal();
}

/* ---- acting ---- */

async function openHosts() {
	try {
		showHosts($("hosts-table").tBodies[0], $("hosts-text"), await fetchHosts(), Date.now() / 1000);
	} catch (error) {
		$("hosts-table").tBodies[0].replaceChildren();
		$("hosts-text").textContent = error.message;
	}
	$("hosts-dialog").showModal();
}

function chooseService(name) {
	ask({ service: name, event: name === TOTAL ? "on-cpu" : state.event, zoom: "" });
}

function zoomTo(node, remember = true) {
	if (node === zoomed)
		return;
	if (remember)
		trail.push(pathOf(profile.tree, zoomed));
	zoomed = node;
	state.zoom = hashOfPath(profile.tree, node);
	history.pushState(null, "", urlFromState(state));
	$("tooltip").hidden = true;
	flame.zoomTo(node);
	showZoom();
}

function back() {
	if (!profile)
		return;
	let target = zoomed;
	while (trail.length && target === zoomed)
		target = nodeAt(profile.tree, trail.pop());
	if (target === zoomed)
		target = profile.tree.parent[zoomed];
	if (target >= 0)
		zoomTo(target, false);
}

function search(text) {
	$("search").value = text;
	change({ search: text }, () => profile && showMatches());
}

function nextMatch(step) {
	if (matches.length === 0)
		return;
	matchAt = (matchAt + step + matches.length) % matches.length;
	flame.select(matches[matchAt]);
	flame.reveal(matches[matchAt]);
	$("match").textContent = `${matchAt + 1} of ${matches.length}`;
}

async function copyLink() {
	const range = rangeOf(state, Math.floor(Date.now() / 1000));
	const link = new URL(urlFromState({ ...state, ...range, live: false }), location.href).href;
	const button = $("share");
	const copied = await copyText(link);

	button.textContent = copied ? "Copied" : "Not allowed";
	setTimeout(() => { button.textContent = "Copy link"; }, 1500);
}

/* The clipboard API is missing where the page came over plain HTTP from another host. */
async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = document.createElement("textarea");
		area.value = text;
		document.body.append(area);
		area.select();
		const copied = document.execCommand("copy");
		area.remove();
		return copied;
	}
}

function keyPressed(event) {
	const inField = event.target.closest?.("input, textarea, dialog, .popup");

	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (event.key === "Escape") {
		escape(event.target);
	} else if (inField) {
		return;
	} else if (event.key === "/") {
		$("search").focus();
		$("search").select();
	} else if (event.key === "Backspace") {
		back();
	} else if (event.key === "r") {
		load();
	} else if (event.key === "n" || event.key === "N") {
		nextMatch(event.key === "n" ? 1 : -1);
	} else if (/^Arrow|^Enter$/.test(event.key) && event.target === document.body) {
		$("scroller").focus();
		flame.keyPressed(event);
		return;
	} else {
		return;
	}
	event.preventDefault();
}

/* One thing at a time: the search first where it is being typed, then the zoom, then the search. */
function escape(target) {
	if (target === $("search") && state.search) {
		search("");
	} else if (target.matches?.("input")) {
		target.blur();
	} else if (profile && zoomed) {
		zoomTo(0);
	} else if (state.search) {
		search("");
	}
}

/* The browser's own back and forward: only another selection needs another answer. */
function travel() {
	const before = state;

	state = stateFromUrl(location.search);
	if (!profile || SELECTION.some((name) => state[name] !== before[name])) {
		profile = null;
		load();
		return;
	}
	showControls();
	zoomed = nodeOfHash(profile.tree, state.zoom);
	flame.zoomTo(zoomed);
	showZoom();
}

function listen() {
	document.addEventListener("keydown", keyPressed);
	window.addEventListener("popstate", travel);
	$("events").addEventListener("change", (event) => ask({ event: event.target.value }));
	$("ranges").addEventListener("change", (event) => {
		if (event.target.value !== "custom") {
			ask({ last: event.target.value, since: 0, until: 0 });
			return;
		}
		const { since, until } = rangeOf(state, Math.floor(Date.now() / 1000));
		ask({ since, until });
	});
	$("custom").addEventListener("submit", (event) => {
		event.preventDefault();
		const [since, until] = [$("since"), $("until")].map((input) => Math.floor(new Date(input.value).getTime() / 1000));
		if (since > 0 && until >= since)
			ask({ since, until });
		else
			$("until").focus();
	});
	$("filter-form").addEventListener("submit", (event) => {
		event.preventDefault();
		ask({ filter: $("filter").value.trim() });
	});
	$("fold").addEventListener("change", (event) => ask({ fold: event.target.checked }));
	$("live").addEventListener("change", (event) => change({ live: event.target.checked }, load));
	$("refresh").addEventListener("click", load);
	$("hosts").addEventListener("click", openHosts);
	$("share").addEventListener("click", copyLink);
	$("search").addEventListener("input", (event) => search(event.target.value));
	$("search").addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			nextMatch(event.shiftKey ? -1 : 1);
	});
	$("back").addEventListener("click", back);
	$("reset").addEventListener("click", () => zoomTo(0));
	$("token-form").addEventListener("submit", (event) => {
		event.preventDefault();
		setToken($("token").value);
		$("token-dialog").close();
		load();
	});
}

listen();
load();
