/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The page. Its state (also in the URL) has the selection to request. The answer becomes a tree, which graph, table and
 * figures show. Without a service in the state, the page shows the fleet.
 *
 * load() requests a new answer after a change of the selection. render() shows the current answer in another way.
 * One object, the page (newPage() in state.js), has everything that changes; every function gets it as its first
 * argument.
 */

import { ApiError, fetchFleet, fetchHosts, fetchProfile, fetchServices, fetchTotals, hasToken, ownSearch } from "./api.js";
import { copyButton, copyFrom } from "./clipboard.js";
import { functionValues, hashOfPath, isOfHosts, labelOf, matchFunctions, nodeAt, nodeOfHash, pathOf, selfByKind, sumOfTotals,
	topmostMatches } from "./columns.js";
import { listenToCompare, showCompare, showDifferenceLegend } from "./compare.js";
import { baseSelection, differenceFacts, differenceOf, differenceSentence, isDifference } from "./difference.js";
import { listenToExports } from "./exports.js";
import { FlameView } from "./flame.js";
import { showFleet, showUnresolvedOfFleet } from "./fleet.js";
import { formatShare, formatValue } from "./format.js";
import { listenToControls, listenToDivider, showControls, TOTAL } from "./header.js";
import { listenToKeys } from "./keys.js";
import { LinesDialog, linesButtons } from "./lines.js";
import { Backoff, showLosses, showNames } from "./names.js";
import { frameFacts, frameSentence, showCrumbs, showLegend, showStats, showTooltip, unresolvedWithin } from "./panels.js";
import { Picker } from "./picker.js";
import { pickerItems } from "./ranking.js";
import { showSide, sideButtons, WHOLE_PROFILE } from "./side.js";
import { isOtherSelection, isSameSelection, newPage, nowSeconds, rangeOf, rememberState, sortOf, stateFromUrl, urlFromState } from "./state.js";
import { suggestFilters } from "./suggestions.js";
import { FunctionTable } from "./table.js";
import { askForToken, listenToToken, WANTED_TOKEN } from "./token.js";
import { hideTrouble, isOfFilter, newestSample, showTrouble, troubleOf, troubleOfNothing } from "./trouble.js";
import { factsOfFiles, filesOfFrame, UNRESOLVED_S, unresolvedContent, UnresolvedRequest, unresolvedTitle } from "./unresolved.js";

const LIVE_MS = 10000;
const TOTALS_KEPT_S = 60;
const NEWEST_S = 900; /* range of "Show the newest data" */

const $ = (id) => document.getElementById(id);

function makeViews(page) {
	const flame = new FlameView($("scroller"), $("canvas"), $("height"), {
		hover: (node, pointer) => showTooltip($("tooltip"), page.profile.tree, node, factsOf(page, node), pointer),
		leave: () => { $("tooltip").hidden = true; },
		select: (node) => showSelected(page, node),
		zoom: (node) => zoomTo(page, node),
	});
	const table = new FunctionTable($("functions"), $("more"), { self: $("sort-self"), total: $("sort-total") }, {
		sort: (by) => change(page, { sort: by }, () => showTable(page)),
		pick: (label) => isOfHosts(page.profile.tree) ? chooseService(page, label.slice("[p] ".length))
			: search(page, page.state.search === `"${label}"` ? "" : `"${label}"`),
	});
	const picker = new Picker({ button: $("service-button"), label: $("service-name"), popup: $("service-popup"),
		search: $("service-search"), list: $("service-list"), remark: $("service-remark") },
		(name) => chooseService(page, name), () => rankForPicker(page));
	const trouble = { line: $("trouble"), text: $("trouble-text"), actions: $("trouble-actions") };

	const lines = new LinesDialog({ dialog: $("lines"), title: $("lines-title"), sums: $("lines-sums"), files: $("lines-files"),
		source: $("lines-source"), instructions: $("lines-instructions"), close: $("lines-close") });

	return { flame, table, picker, trouble, lines };
}

/* Applies changes to the state and the URL, then calls @then(). */
function change(page, changes, then, keepInHistory = false) {
	page.state = { ...page.state, ...changes };
	rememberState(page.state, keepInHistory);
	then();
}

/* Changes the selection, and loads the new one. */
function select(page, changes) {
	change(page, changes, () => load(page), true);
}

/* ---- requests ---- */

/* @continues: Live requests a later range, and the old list of unresolved files stays until the new one has arrived. */
async function load(page, continues = false) {
	page.backoff.reset();
	await request(page, { ...page.state, ...rangeOf(page.state, nowSeconds()), continues });
}

/* Requests the same selection again for its missing names. After an error the page keeps what it shows. */
async function reloadForNames(page, selection) {
	await request(page, selection, () => {
		page.backoff.stop();
		showNamesLine(page);
	});
}

async function request(page, selection, failed = (error) => showError(page, error)) {
	clearTimeout(page.nextTimer);
	page.abort?.abort();
	page.abort = new AbortController();
	const { signal } = page.abort;
	$("progress").hidden = false;
	showHead(page);
	try {
		await (selection.service ? requestProfile(page, selection, signal) : requestFleet(page, selection, signal));
		page.gone_s = 0;
		$("filter").setAttribute("aria-invalid", "false");
	} catch (error) {
		if (error.name === "AbortError")
			return;
		failed(error);
	}
	$("progress").hidden = true;
	scheduleNext(page, selection);
}

async function requestProfile(page, selection, signal) {
	page.services = await fetchServices(selection, signal);
	showHead(page);
	const base = baseSelection(page.state, selection);
	const [answer, before] = await Promise.all([fetchProfile(selection, signal), base && fetchProfile(base, signal)]);
	await show(page, selection, before ? compared(answer, before, selection, base) : answer);
	if (page.profile?.selection !== selection || unresolvedWithin(page.profile, 0) === 0)
		return;
	page.unresolvedRequest.start(selection, signal, (answer) => {
		page.unresolved = answer;
		showUnresolved(page);
		showNamesLine(page);
	});
}

/* Replaces the tree by that of both profiles. Without samples in the base, the graph of the selection stays, with the reason. */
function compared(answer, before, selection, base) {
	const seconds = (profile, { since, until }) => profile.stats["covered-s"] || Math.max(1, until - since);

	if (!answer.tree)
		return answer;
	if (!before.tree)
		return { ...answer, description: `nothing to compare with: ${before.description}` };
	return { ...answer, tree: differenceOf(answer.tree, before.tree, seconds(answer, selection), seconds(before, base)) };
}

async function requestFleet(page, requested, signal) {
	const selection = { ...requested, event: "on-cpu" };
	const [services, agents, labels, byService, byHost] = await Promise.all([fetchServices(selection, signal),
		fetchFleet(selection, signal), fetchHosts(), fetchTotals(selection, "app_service", signal), fetchTotals(selection, "host", signal)]);

	page.services = services;
	setTotals(page, byService);
	if (byService.whole === 0 && (agents.hosts.length === 0 || selection.filter)) {
		showNothing(page, selection, byService.message, labels.length > 0);
		return;
	}
	page.profile = null;
	page.fleet = { services, fleet: agents, labels, byService, byHost, selection, expanded: page.fleet?.expanded ?? new Set(),
		unresolved: isSameSelection(page.fleet?.selection, selection) ? page.fleet.unresolved : null };
	hideTrouble(page.trouble, $("notice"));
	render(page);
	if (byService.whole === 0)
		showNothing(page, selection, byService.message, true);
	requestUnresolvedOfFleet(page, page.fleet, signal);
}

/* The server reads the stacks of all services for this list. It takes longest, so that the other parts are shown first. */
function requestUnresolvedOfFleet(page, fleet, signal) {
	const { selection } = fleet;

	page.unresolvedRequest.start({ ...selection, since: Math.max(selection.since, selection.until - UNRESOLVED_S) }, signal, (answer) => {
		fleet.unresolved = answer;
		showUnresolvedOfFleet($("fleet"), fleet);
		const isPending = answer?.files.some(({ reason }) => reason === "pending");
		const wait_ms = !page.state.live && isPending ? page.backoff.next() : null;
		if (wait_ms !== null)
			schedule(page, wait_ms, () => requestUnresolvedOfFleet(page, fleet, signal));
	});
}

/* Schedules the next automatic request: the same selection while symbol tables are being made, else a new one with Live. */
function scheduleNext(page, selection) {
	const names_ms = page.profile?.stats["tables-pending"] > 0 && !page.gone_s ? page.backoff.next() : null;

	clearTimeout(page.nextTimer);
	if (names_ms !== null)
		schedule(page, names_ms, () => reloadForNames(page, selection));
	else if (page.state.live && !page.state.since)
		schedule(page, LIVE_MS, () => load(page, true));
	if (page.profile)
		showNamesLine(page);
}

/* Waits again while the page is hidden. A slow server gets no further request before its list of unresolved files. */
function schedule(page, wait_ms, then) {
	const { signal } = page.abort;

	page.nextTimer = setTimeout(async () => {
		await page.unresolvedRequest.ended;
		if (!signal.aborted)
			document.hidden ? schedule(page, wait_ms, then) : then();
	}, wait_ms);
}

/* The picker ranks by CPU time. The page requests it when the picker is opened for the first time. */
async function rankForPicker(page) {
	const { totals, state } = page;

	if (totals && nowSeconds() - totals.at_s < TOTALS_KEPT_S)
		return;
	setTotals(page, await fetchTotals({ ...rangeOf(state, nowSeconds()), filter: "" }, "app_service").catch(() => null));
}

function setTotals(page, answer) {
	page.totals = answer?.whole > 0 ? { ...answer, at_s: nowSeconds() } : null;
	showPicker(page);
}

async function show(page, selection, answer) {
	const zoomPath = page.profile && page.state.zoom ? pathOf(page.profile.tree, page.zoomed) : null;

	if (!answer.tree) {
		showNothing(page, selection, answer.description, page.services.length > 0 || (await fetchHosts()).length > 0);
		return;
	}
	const { tree, stats, wait_ms, description } = answer;
	const isSame = isSameSelection(page.profile?.selection, selection);
	page.profile = { tree, selection, event: selection.event, stats, wait_ms, description,
		seconds: stats["covered-s"] || Math.max(1, selection.until - selection.since) };
	page.fleet = null;
	if (!isSame || unresolvedWithin(page.profile, 0) === 0)
		page.unresolved = null;
	hideTrouble(page.trouble, $("notice"));
	page.zoomed = zoomPath ? nodeAt(tree, zoomPath) : nodeOfHash(tree, page.state.zoom);
	change(page, { zoom: hashOfPath(tree, page.zoomed) }, () => render(page));
}

/* ---- display ---- */

function render(page) {
	const { state, fleet } = page;
	const tree = page.profile?.tree ?? null;

	$("title").textContent = state.service ? `${state.service}, ${state.event}` : "The fleet";
	document.title = state.service ? `${state.service} · ${state.event} · Hearth` : "Hearth";
	document.body.classList.toggle("no-profile", !tree);
	document.body.classList.toggle("is-fleet", fleet !== null);
	$("fleet").hidden = !fleet;
	$("graph").hidden = fleet !== null;
	$("tooltip").hidden = true;
	if (fleet)
		renderFleet(page);
	page.flame.setTree(tree, tree ? page.zoomed : 0);
	if (!tree) {
		for (const id of ["stats", "legend"])
			$(id).replaceChildren();
		for (const id of ["names", "losses", "crumbs", "unresolved"])
			$(id).hidden = true;
		$("match").textContent = "";
		page.table.clear();
		return;
	}
	showLosses($("losses"), page.profile.description ?? "");
	showUnresolved(page);
	showZoom(page);
}

function renderFleet(page) {
	showFleet($("fleet"), page.fleet, { service: (name) => chooseService(page, name), total: () => chooseService(page, TOTAL),
		host: (name) => select(page, { service: TOTAL, event: "on-cpu", filter: `host = '${name.replaceAll("'", "''")}'` }) });
}

function showHead(page) {
	page.picker.setChoice(page.state.service);
	showPicker(page);
	showControls(page.state, page.services);
	showSide($("side"), page.state, (changes) => select(page, changes));
	showCompare(page.state, page.services);
}

function showPicker({ services, totals, picker }) {
	const { items, n_folded } = pickerItems(services, totals, nowSeconds());

	picker.setItems([{ name: TOTAL, note: "every process" }, ...items], n_folded);
}

function showZoom(page) {
	const { profile, zoomed } = page;
	const { tree } = profile;
	const values = functionValues(tree, zoomed);

	showStats($("stats"), profile, zoomed);
	showCrumbs($("crumbs"), $("crumb-list"), tree, zoomed,
		{ zoom: (node) => zoomTo(page, node), open: (name) => chooseService(page, name) });
	page.flame.compareBy(page.state.absolute);
	if (isDifference(tree))
		showDifferenceLegend($("legend"), page.state.absolute);
	else
		showLegend($("legend"), isOfHosts(tree) ? [] : selfByKind(tree, values), tree.total[zoomed], (kind) => search(page, `kind:${kind}`));
	showMatches(page);
}

function showNamesLine(page) {
	const { profile, unresolved } = page;
	const { tree, stats } = profile;

	showNames($("names"), { unsymbolized: unresolvedWithin(profile, 0), whole: tree.total[0], stats,
		areListed: unresolved !== null && !unresolved.error }, page.backoff, () => load(page));
}

function showUnresolved({ unresolved }) {
	$("unresolved").hidden = !unresolved;
	if (!unresolved)
		return;
	$("unresolved-title").textContent = unresolvedTitle(unresolved);
	$("unresolved-files").replaceChildren(unresolvedContent(unresolved, false));
}

/* All facts of a frame and its file. */
function factsOf(page, node) {
	const { profile, zoomed } = page;

	const facts = isDifference(profile.tree) ? differenceFacts(profile.tree, node, profile.event, page.state.absolute)
		: frameFacts(profile.tree, node, profile.event, zoomed);

	return [...facts, ...factsOfFiles(filesOf(page, node))];
}

function filesOf({ profile, unresolved }, node) {
	return filesOfFrame(labelOf(profile.tree, node), unresolved?.files ?? []);
}

function showSelected(page, node) {
	const { tree, event } = page.profile;
	const files = filesOf(page, node);
	const [file] = files;
	const why = files.length > 1 ? `one of ${files.length} files with this name` : file?.why;

	const sentence = isDifference(tree) ? differenceSentence(tree, node, event, page.state.absolute) : frameSentence(tree, node, event);

	$("frame-text").textContent = sentence + (why ? `, unresolved: ${why}` : "");
	$("frame-actions").replaceChildren(...(files.length === 1 && file.command ? [copyButton(file.command, "Copy the remedy")] : []),
		...sideButtons(tree, node, (changes) => select(page, changes)),
		...linesButtons(tree, node, (label, view) => page.lines.show(page.profile.selection, label, view)));
}

function showMatches(page) {
	const { profile: { tree, event }, state, zoomed } = page;
	const output = $("match");
	let selected = null;

	page.matches = [];
	page.matchAt = -1;
	try {
		selected = matchFunctions(tree, state.search);
		output.classList.remove("wrong");
	} catch (error) {
		output.classList.add("wrong");
		output.textContent = "not a regular expression";
		output.title = error.message;
	}
	page.flame.setMatches(selected);
	if (selected) {
		const matches = topmostMatches(tree, selected, zoomed);
		const sum = sumOfTotals(tree, matches);
		output.textContent = matches.length ? `${formatShare(sum, tree.total[zoomed])} matched` : "no match";
		output.title = `${formatValue(event, sum)} in ${matches.length} frames`;
		page.matches = matches.sort((a, b) => tree.total[b] - tree.total[a]);
	} else if (!state.search) {
		output.textContent = "";
	}
	showTable(page, selected);
}

function showTable(page, selected = matchFunctions(page.profile.tree, page.state.search)) {
	const { profile: { tree, event }, state, zoomed } = page;

	page.table.show({ tree, event, by: sortOf(state, isOfHosts(tree)), matches: selected, values: functionValues(tree, zoomed),
		whole: tree.total[zoomed] });
	$("table-title").textContent = isOfHosts(tree) ? "Top processes" : "Top functions";
	$("table-column").textContent = isOfHosts(tree) ? "Process" : "Function";
	$("table-scope").textContent = zoomed ? "within the zoom" : "";
}

/* ---- errors and empty answers ---- */

function showNothing(page, selection, description, anyHost) {
	showTroubled(page, troubleOfNothing(selection, description, shownSelection(page), anyHost), newestSample(description));
}

function showError(page, error) {
	const isAnswer = error instanceof ApiError;

	page.gone_s = isAnswer && error.status === 0 ? page.gone_s || nowSeconds() : 0;
	if (isAnswer && error.status === 401)
		askForToken(hasToken() ? `The server did not accept the token: ${error.message}` : WANTED_TOKEN);
	else
		$("filter").setAttribute("aria-invalid", String(isOfFilter(error)));
	showTroubled(page, troubleOf(error, shownSelection(page), page.gone_s));
}

/* The selection that the page shows now. After an error it is older than the requested one. */
function shownSelection({ profile, fleet }) {
	return (profile ?? fleet)?.selection ?? null;
}

function showTroubled(page, trouble, newest_s) {
	const shown = shownSelection(page);
	const acts = {
		retry: () => load(page),
		token: () => askForToken(WANTED_TOKEN),
		clear: () => select(page, { filter: "" }),
		newest: () => select(page, { since: Math.max(1, newest_s - NEWEST_S), until: newest_s }),
		day: () => select(page, { last: "24h", since: 0, until: 0 }),
		fleet: () => select(page, { ...WHOLE_PROFILE, service: "", filter: "", search: "" }),
	};

	if (!shown)
		render(page);
	showTrouble(page.trouble, $("notice"), trouble, shown !== null, (name) => acts[name]());
}

/* ---- actions of the user ---- */

function chooseService(page, name) {
	const { event } = page.state;

	select(page, { ...WHOLE_PROFILE, service: name, event: name === TOTAL && /^(mem|hbm)-|^rdma$/.test(event) ? "on-cpu" : event });
}

function zoomTo(page, node, remember = true) {
	const { tree } = page.profile;

	if (node === page.zoomed)
		return;
	if (remember)
		page.trail.push(pathOf(tree, page.zoomed));
	page.zoomed = node;
	page.state.zoom = hashOfPath(tree, node);
	rememberState(page.state, true);
	$("tooltip").hidden = true;
	page.flame.zoomTo(node);
	showZoom(page);
}

function back(page) {
	const { profile, zoomed, trail } = page;
	let target = zoomed;

	if (!profile)
		return;
	while (trail.length && target === zoomed)
		target = nodeAt(profile.tree, trail.pop());
	if (target === zoomed)
		target = profile.tree.parent[zoomed];
	if (target >= 0)
		zoomTo(page, target, false);
}

function search(page, text) {
	$("search").value = text;
	change(page, { search: text }, () => page.profile && showMatches(page));
}

function nextMatch(page, step) {
	const { matches, flame } = page;

	if (matches.length === 0)
		return;
	page.matchAt = (page.matchAt + step + matches.length) % matches.length;
	flame.select(matches[page.matchAt]);
	flame.reveal(matches[page.matchAt]);
	$("match").textContent = `${page.matchAt + 1} of ${matches.length}`;
}

function copyLink({ state }) {
	const range = rangeOf(state, nowSeconds());

	copyFrom($("share"), new URL(urlFromState({ ...state, ...range, live: false }), location.href).href);
}

/* Escape leaves one thing at a time: the search if its field has the focus, then the zoom, then the search. */
function escape(page, target) {
	const { state, profile, zoomed } = page;

	if (target === $("search") && state.search)
		search(page, "");
	else if (target.matches?.("input"))
		target.blur();
	else if (profile && zoomed)
		zoomTo(page, 0);
	else if (state.search)
		search(page, "");
}

/* Back and Forward of the browser: only another selection needs another answer. */
function historyMoved(page) {
	const before = page.state;

	page.state = stateFromUrl(ownSearch());
	if (!page.profile || isOtherSelection(page.state, before)) {
		load(page);
		return;
	}
	showHead(page);
	page.zoomed = nodeOfHash(page.profile.tree, page.state.zoom);
	page.flame.zoomTo(page.zoomed);
	showZoom(page);
}

function listen(page) {
	listenToKeys({ escape: (target) => escape(page, target), back: () => back(page), load: () => load(page),
		nextMatch: (step) => nextMatch(page, step), hasGraph: () => page.profile !== null, walk: (event) => page.flame.keyPressed(event) });
	window.addEventListener("popstate", () => historyMoved(page));
	listenToControls((changes) => {
		if ("last" in changes || "since" in changes)
			page.totals = null;
		select(page, changes);
	}, () => page.state);
	listenToDivider();
	listenToCompare((changes) => select(page, changes), (changes) => change(page, changes, () => page.profile && showZoom(page)));
	listenToExports(() => page.profile?.selection ?? null, (error) => showError(page, error));
	suggestFilters($("filter"), $("filter-list"), fetchHosts);
	$("live").addEventListener("change", (event) => change(page, { live: event.target.checked }, () => load(page)));
	$("refresh").addEventListener("click", () => load(page));
	for (const id of ["fleet-button", "home"]) {
		$(id).addEventListener("click", (event) => {
			event.preventDefault();
			select(page, { ...WHOLE_PROFILE, service: "", event: "on-cpu", filter: "", search: "" });
		});
	}
	$("share").addEventListener("click", () => copyLink(page));
	$("search").addEventListener("input", (event) => search(page, event.target.value));
	$("search").addEventListener("keydown", (event) => {
		if (event.key === "Enter")
			nextMatch(page, event.shiftKey ? -1 : 1);
	});
	$("back").addEventListener("click", () => back(page));
	$("reset").addEventListener("click", () => zoomTo(page, 0));
	listenToToken(() => load(page));
}

function start() {
	const page = newPage(ownSearch());

	Object.assign(page, makeViews(page), { backoff: new Backoff(), unresolvedRequest: new UnresolvedRequest() });
	listen(page);
	load(page);
}

start();
