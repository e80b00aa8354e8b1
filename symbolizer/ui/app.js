/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The page: state (also in the URL) → question to the server → tree → graph, table, figures. Without a service in the
 * state it is the fleet that is shown.
 *
 * load() asks again when the selection changed; render() only shows the answer there is in another way.
 */

import { ApiError, fetchFleet, fetchHosts, fetchProfile, fetchServices, fetchTotals, hasToken } from "./api.js";
import { copyButton, copyFrom } from "./clipboard.js";
import { functionValues, hashOfPath, isOfHosts, labelOf, matchFunctions, nodeAt, nodeOfHash, pathOf, selfByKind, sumOfTotals,
	topmostMatches } from "./columns.js";
import { FlameView } from "./flame.js";
import { showFleet, showUnresolvedOfFleet } from "./fleet.js";
import { formatShare, formatValue } from "./format.js";
import { listenToControls, listenToDivider, showControls, TOTAL } from "./header.js";
import { listenToKeys } from "./keys.js";
import { Patience, showNames } from "./names.js";
import { frameFacts, frameSentence, showCrumbs, showLegend, showStats, showTooltip, unresolvedWithin } from "./panels.js";
import { Picker } from "./picker.js";
import { pickerItems } from "./ranking.js";
import { isOtherQuestion, isSameSelection, nowSeconds, rangeOf, sortOf, stateFromUrl, urlFromState } from "./state.js";
import { suggestFilters } from "./suggestions.js";
import { FunctionTable } from "./table.js";
import { askForToken, listenToToken, WANTED_TOKEN } from "./token.js";
import { hideTrouble, isOfFilter, newestSample, showTrouble, troubleOf, troubleOfNothing } from "./trouble.js";
import { factsOfFiles, filesOfFrame, UNRESOLVED_S, unresolvedContent, UnresolvedQuestion, unresolvedTitle } from "./unresolved.js";

const LIVE_MS = 10000;
const TOTALS_KEPT_S = 60;
const NEWEST_S = 900; /* what "the newest data" shows */

const $ = (id) => document.getElementById(id);

let state = stateFromUrl(location.search);
let services = [];
let totals = null;   /* of fetchTotals(): CPU time by service, once somebody wanted it */
let profile = null;  /* {tree, asked, event, seconds, stats, wait_ms} of what is shown */
let fleet = null;    /* what is shown of the fleet: {asked, ...} */
let unresolved = null; /* of the profile, from beside */
let zoomed = 0;
let trail = [];	     /* paths zoomed to before, for Back */
let matches = [];    /* topmost matching nodes, largest first */
let matchAt = -1;
let request = null;  /* AbortController of the question under way */
let nextTimer = 0;
let gone_s = 0;	     /* since when the server does not answer */
const patience = new Patience();
const beside = new UnresolvedQuestion();
const troubleLine = { line: $("trouble"), text: $("trouble-text"), actions: $("trouble-actions") };

const flame = new FlameView($("scroller"), $("canvas"), $("height"), {
	hover: (node, pointer) => showTooltip($("tooltip"), profile.tree, node, factsOf(node), pointer),
	leave: () => { $("tooltip").hidden = true; },
	select: (node) => showSelected(node),
	zoom: (node) => zoomTo(node),
});

const table = new FunctionTable($("functions"), $("more"), { self: $("sort-self"), total: $("sort-total") }, {
	sort: (by) => change({ sort: by }, showTable),
	pick: (label) => isOfHosts(profile.tree) ? chooseService(label.slice("[p] ".length))
		: search(state.search === `"${label}"` ? "" : `"${label}"`),
});

const picker = new Picker({ button: $("service-button"), label: $("service-name"), popup: $("service-popup"),
	search: $("service-search"), list: $("service-list"), remark: $("service-remark") }, (name) => chooseService(name), rankForPicker);

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
	await question({ ...state, ...rangeOf(state, nowSeconds()) });
}

/* For Live: the list of unresolved files stays until the new one is there. */
async function loadLive() {
	patience.begin();
	await question({ ...state, ...rangeOf(state, nowSeconds()), goesOn: true });
}

/* The same once more, for the names: what is shown stays when it fails. */
async function askForNames(asked) {
	await question(asked, () => {
		patience.end();
		showNamesLine();
	});
}

async function question(asked, failed = showError) {
	clearTimeout(nextTimer);
	request?.abort();
	request = new AbortController();
	const { signal } = request;
	$("progress").hidden = false;
	showHead();
	try {
		await (asked.service ? askForProfile(asked, signal) : askForFleet(asked, signal));
		gone_s = 0;
		$("filter").setAttribute("aria-invalid", "false");
	} catch (error) {
		if (error.name === "AbortError")
			return;
		failed(error);
	}
	$("progress").hidden = true;
	planNext(asked);
}

async function askForProfile(asked, signal) {
	services = await fetchServices(asked, signal);
	showHead();
	await show(asked, await fetchProfile(asked, signal), signal);
	if (profile?.asked !== asked || unresolvedWithin(profile, 0) === 0)
		return;
	beside.ask(asked, signal, (answer) => {
		unresolved = answer;
		showUnresolved();
		showNamesLine();
	});
}

async function askForFleet(selection, signal) {
	const asked = { ...selection, event: "on-cpu" };
	const [rows, agents, labels, byService, byHost] = await Promise.all([fetchServices(asked, signal), fetchFleet(asked, signal),
		fetchHosts(), fetchTotals(asked, "app_service", signal), fetchTotals(asked, "host", signal)]);

	services = rows;
	setTotals(byService);
	if (byService.whole === 0 && (agents.hosts.length === 0 || asked.filter)) {
		showNothing(asked, byService.message, labels.length > 0);
		return;
	}
	profile = null;
	fleet = { services: rows, fleet: agents, labels, byService, byHost, expanded: fleet?.expanded ?? new Set(), asked,
		unresolved: isSameSelection(fleet?.asked, asked) ? fleet.unresolved : null };
	hideTrouble(troubleLine, $("notice"));
	render();
	if (byService.whole === 0)
		showNothing(asked, byService.message, true);
	askForUnresolvedOfFleet(fleet, signal);
}

/* All stacks of all services take longest: the rest does not wait for them. */
function askForUnresolvedOfFleet(asking, signal) {
	const { asked } = asking;

	beside.ask({ ...asked, since: Math.max(asked.since, asked.until - UNRESOLVED_S) }, signal, (answer) => {
		asking.unresolved = answer;
		showUnresolvedOfFleet($("fleet"), asking);
		const wait_ms = !state.live && answer?.files.some(({ reason }) => reason === "pending") ? patience.next() : null;
		if (wait_ms !== null)
			later(wait_ms, () => askForUnresolvedOfFleet(asking, signal));
	});
}

/* Again in a while: everything where that is wanted, the same where names are on their way. */
function planNext(asked) {
	const names_ms = profile?.stats["tables-pending"] > 0 && !gone_s ? patience.next() : null;

	clearTimeout(nextTimer);
	if (names_ms !== null)
		later(names_ms, () => askForNames(asked));
	else if (state.live && !state.since)
		later(LIVE_MS, loadLive);
	if (profile)
		showNamesLine();
}

/* Nobody looks at a hidden page; and a slow server gets no further question before it answered the one beside. */
function later(wait_ms, then) {
	const { signal } = request;

	nextTimer = setTimeout(async () => {
		await beside.ended;
		if (!signal.aborted)
			document.hidden ? later(wait_ms, then) : then();
	}, wait_ms);
}

/* The picker ranks by CPU time, which one more question answers: only who opens it pays for that. */
async function rankForPicker() {
	if (totals && nowSeconds() - totals.at_s < TOTALS_KEPT_S)
		return;
	setTotals(await fetchTotals({ ...rangeOf(state, nowSeconds()), filter: "" }, "app_service").catch(() => null));
}

function setTotals(answer) {
	totals = answer?.whole > 0 ? { ...answer, at_s: nowSeconds() } : null;
	showPicker();
}

async function show(asked, answer) {
	const zoomPath = profile && state.zoom ? pathOf(profile.tree, zoomed) : null;

	if (!answer.tree) {
		showNothing(asked, answer.description, services.length > 0 || (await fetchHosts()).length > 0);
		return;
	}
	const { tree } = answer;
	const isSame = isSameSelection(profile?.asked, asked);
	profile = { tree, asked, event: asked.event, seconds: answer.stats["covered-s"] || Math.max(1, asked.until - asked.since),
		stats: answer.stats, wait_ms: answer.wait_ms };
	fleet = null;
	if (!isSame || unresolvedWithin(profile, 0) === 0)
		unresolved = null;
	hideTrouble(troubleLine, $("notice"));
	zoomed = zoomPath ? nodeAt(tree, zoomPath) : nodeOfHash(tree, state.zoom);
	change({ zoom: hashOfPath(tree, zoomed) }, render);
}

/* ---- showing ---- */

function render() {
	const tree = profile?.tree ?? null;

	$("title").textContent = state.service ? `${state.service}, ${state.event}` : "The fleet";
	document.title = state.service ? `${state.service} · ${state.event} · Hearth` : "Hearth";
	document.body.classList.toggle("no-profile", !tree);
	document.body.classList.toggle("is-fleet", fleet !== null);
	$("fleet").hidden = !fleet;
	$("graph").hidden = fleet !== null;
	$("tooltip").hidden = true;
	if (fleet)
		renderFleet();
	flame.setTree(tree, tree ? zoomed : 0);
	if (!tree) {
		for (const id of ["stats", "legend"])
			$(id).replaceChildren();
		for (const id of ["names", "crumbs", "unresolved"])
			$(id).hidden = true;
		$("match").textContent = "";
		table.clear();
		return;
	}
	showUnresolved();
	showZoom();
}

function renderFleet() {
	showFleet($("fleet"), fleet, { service: chooseService, total: () => chooseService(TOTAL),
		host: (name) => ask({ service: TOTAL, event: "on-cpu", filter: `host = '${name.replaceAll("'", "''")}'` }) });
}

function showHead() {
	picker.setChoice(state.service);
	showPicker();
	showControls(state, services);
}

function showPicker() {
	const { items, n_folded } = pickerItems(services, totals, nowSeconds());

	picker.setItems([{ name: TOTAL, note: "every process" }, ...items], n_folded);
}

function showZoom() {
	const { tree } = profile;
	const values = functionValues(tree, zoomed);

	showStats($("stats"), profile, zoomed);
	showCrumbs($("crumbs"), $("crumb-list"), tree, zoomed, { zoom: zoomTo, open: chooseService });
	showLegend($("legend"), isOfHosts(tree) ? [] : selfByKind(tree, values), tree.total[zoomed], (kind) => search(`kind:${kind}`));
	showMatches();
}

function showNamesLine() {
	const { tree, stats } = profile;

	showNames($("names"), { unsymbolized: unresolvedWithin(profile, 0), whole: tree.total[0], stats,
		areListed: unresolved !== null && !unresolved.error },
		patience, load);
}

function showUnresolved() {
	$("unresolved").hidden = !unresolved;
	if (!unresolved)
		return;
	$("unresolved-title").textContent = unresolvedTitle(unresolved);
	$("unresolved-files").replaceChildren(unresolvedContent(unresolved, false));
}

/* Everything that is known of a frame. */
function factsOf(node) {
	return [...frameFacts(profile.tree, node, profile.event, zoomed), ...factsOfFiles(filesOf(node))];
}

function filesOf(node) {
	return filesOfFrame(labelOf(profile.tree, node), unresolved?.files ?? []);
}

function showSelected(node) {
	const files = filesOf(node);
	const [file] = files;
	const why = files.length > 1 ? `one of ${files.length} files with this name` : file?.why;

	$("frame-text").textContent = frameSentence(profile.tree, node, profile.event) + (why ? `, unresolved: ${why}` : "");
	$("frame-actions").replaceChildren(...(files.length === 1 && file.command ? [copyButton(file.command, "Copy the remedy")] : []));
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

/* ---- when there is no answer, or nothing in it ---- */

function showNothing(asked, description, anyHost) {
	showTroubled(troubleOfNothing(asked, description, shownSelection(), anyHost), { newest_s: newestSample(description) });
}

function showError(error) {
	gone_s = error instanceof ApiError && error.status === 0 ? gone_s || nowSeconds() : 0;
	if (error instanceof ApiError && error.status === 401) {
		askForToken(hasToken() ? `The server did not accept the token: ${error.message}` : WANTED_TOKEN);
		showTroubled(troubleOf(error, shownSelection(), gone_s), {});
		return;
	}
	$("filter").setAttribute("aria-invalid", String(isOfFilter(error)));
	showTroubled(troubleOf(error, shownSelection(), gone_s), {});
}

/* What can be seen now, which is not always what was asked for last. */
function shownSelection() {
	return (profile ?? fleet)?.asked ?? null;
}

function showTroubled(trouble, { newest_s }) {
	const shown = shownSelection();
	const acts = {
		retry: load,
		token: () => askForToken(WANTED_TOKEN),
		clear: () => ask({ filter: "" }),
		newest: () => ask({ since: Math.max(1, newest_s - NEWEST_S), until: newest_s }),
		day: () => ask({ last: "24h", since: 0, until: 0 }),
		fleet: () => ask({ service: "", filter: "", search: "", zoom: "" }),
	};

	if (!shown)
		render();
	showTrouble(troubleLine, $("notice"), trouble, shown !== null, (name) => acts[name]());
}

/* ---- acting ---- */

function chooseService(name) {
	ask({ service: name, event: name === TOTAL && /^(mem|hbm)-|^rdma$/.test(state.event) ? "on-cpu" : state.event, zoom: "" });
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

function copyLink() {
	const range = rangeOf(state, nowSeconds());

	copyFrom($("share"), new URL(urlFromState({ ...state, ...range, live: false }), location.href).href);
}

/* Escape leaves one thing at a time: the search first where it is being typed, then the zoom, then the search. */
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
	if (!profile || isOtherQuestion(state, before)) {
		load();
		return;
	}
	showHead();
	zoomed = nodeOfHash(profile.tree, state.zoom);
	flame.zoomTo(zoomed);
	showZoom();
}

function listen() {
	listenToKeys({ escape, back, load, nextMatch, hasGraph: () => profile !== null, walk: (event) => flame.keyPressed(event) });
	window.addEventListener("popstate", travel);
	listenToControls((changes) => {
		if ("last" in changes || "since" in changes)
			totals = null;
		ask(changes);
	}, () => state);
	listenToDivider();
	suggestFilters($("filter"), $("filter-list"), fetchHosts);
	$("live").addEventListener("change", (event) => change({ live: event.target.checked }, load));
	$("refresh").addEventListener("click", load);
	for (const id of ["fleet-button", "home"]) {
		$(id).addEventListener("click", (event) => {
			event.preventDefault();
			ask({ service: "", event: "on-cpu", filter: "", search: "", zoom: "" });
		});
	}
	$("share").addEventListener("click", copyLink);
	$("search").addEventListener("input", (event) => search(event.target.value));
	$("search").addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			nextMatch(event.shiftKey ? -1 : 1);
	});
	$("back").addEventListener("click", back);
	$("reset").addEventListener("click", () => zoomTo(0));
	listenToToken(load);
}

listen();
load();
