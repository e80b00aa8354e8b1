/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the page in a browser with the server HEARTH_URL (and HEARTH_SERVICE, a service with samples), else with the
 * generated profile of fixture_server.mjs.
 *
 *   node --test tests/e2e/page/*.test.mjs
 *
 * The tests compute the expected content from the answer that the page received, without code of the page. If HEARTH_WORK
 * is set, they write screenshots to that folder.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";

import { startBrowser } from "./browser.mjs";
import { startFixture } from "./fixture_server.mjs";

const FLAME = "/v1/flame";
const ROW_HEIGHT = 21;
const SERVICE = process.env.HEARTH_SERVICE ?? "search-api";

let fixture, browser, url, page;

before(async () => {
	fixture = process.env.HEARTH_URL ? null : await startFixture();
	url = (process.env.HEARTH_URL ?? fixture.url).replace(/\/$/, "");
	browser = await startBrowser(process.env.CHROMIUM ?? "chromium");
});

after(async () => {
	await browser?.close();
	fixture?.close();
});

beforeEach(async () => {
	page = await browser.newPage();
});

afterEach(async () => {
	await page.close();
});

/* Opens the page and waits for the graph. Returns the profile that the page received, as a tree. */
async function openService(parameters = {}) {
	await page.open(`${url}/?${new URLSearchParams({ service: SERVICE, last: "1h", ...parameters })}`);
	return await shownProfile();
}

async function shownProfile() {
	await settled();
	const { parameters, answer } = await page.lastAnswer(FLAME);
	return { parameters, ...treeOf(answer.result) };
}

const settled = () => page.until("document.getElementById('progress').hidden && (document.querySelector('#stats dd') || !document.getElementById('notice').hidden)");

/* Converts an answer to nodes with children and a left edge, indexed as in the answer. */
function treeOf(result) {
	const nodes = result.node_values.values.map(([fn, parent, self, total], id) => ({ id, fn, parent, self, total,
		label: result.functions[fn], type: result.function_types[fn], children: [], x: 0, depth: 0 }));

	for (const node of nodes.slice(1)) {
		const parent = nodes[node.parent];
		node.depth = parent.depth + 1;
		node.x = parent.x + parent.children.reduce((sum, child) => sum + child.total, 0);
		parent.children.push(node);
	}
	return { result, nodes, root: nodes[0] };
}

/* Returns the centre of a node on the screen, if @zoomed has the full width. */
async function placeOf(node, zoomed) {
	const canvas = await page.box("#canvas");
	const scroll = await page.evaluate("document.getElementById('scroller').scrollTop");
	const scale = canvas.width / zoomed.total;

	return { x: canvas.x + (node.x - zoomed.x + node.total / 2) * scale,
		y: canvas.y + node.depth * ROW_HEIGHT - scroll + ROW_HEIGHT / 2, width: node.total * scale };
}

const callees = (root, chosen) => root.children.flatMap((child) => [...(chosen(child) ? [child] : []), ...callees(child, chosen)]);

/* Sums the topmost nodes with a matching label. */
const matched = (node, fits) => fits(node.label) ? node.total : node.children.reduce((sum, child) => sum + matched(child, fits), 0);

/* Formats a value with the page's functions: the tests compare values, not formats. */
const inWords = (call) => page.evaluate(`import("./format.js").then((format) => format.${call})`);

async function picture(name) {
	if (process.env.HEARTH_WORK)
		writeFileSync(join(process.env.HEARTH_WORK, `${name}.png`), await page.screenshot());
}

async function assertQuiet(from = url) {
	assert.deepEqual(page.complaints, []);
	const elsewhere = page.requests.filter((request) => !request.url.startsWith(from) && !/^(about|data):/.test(request.url));
	assert.deepEqual(elsewhere, [], "everything comes from the server itself");
}

test("the page shows the profile of the server's answer, without errors of the browser", async () => {
	const { root, parameters } = await openService();

	assert.equal(parameters.service, SERVICE);
	assert.equal(parameters.event, "on-cpu");
	assert.equal(parameters.until - parameters.since, 3601, "with the last second");
	const stats = await page.text("stats");
	assert.ok(stats.includes(await inWords(`formatTime(${root.total})`)), stats);
	assert.equal(await page.text("service-name"), SERVICE);
	await picture("page-light");
	await assertQuiet();
});

test("pointing at a frame shows its name, value and shares", async () => {
	const { root, nodes } = await openService();
	const wide = nodes.filter((node) => node.total > root.total / 20 && node.depth < 12);

	assert.ok(wide.length >= 3);
	for (const node of wide) {
		const { x, y } = await placeOf(node, root);
		await page.moveTo(x, y);
		const text = await page.until(`!document.getElementById('tooltip').hidden && document.getElementById('tooltip').innerText`);
		assert.ok(text.startsWith(node.label), `${text} at ${node.label}`);
		assert.ok(text.includes(await inWords(`formatTime(${node.total})`)), text);
		assert.ok(text.includes(await inWords(`formatShare(${node.total}, ${root.total})`)), text);
		if (node.parent >= 0)
			assert.ok(text.includes(await inWords(`formatShare(${node.total}, ${nodes[node.parent].total})`)), text);
	}
	await page.moveTo(5, 5);
	await page.until("document.getElementById('tooltip').hidden");
});

test("a click zooms, the link has the zoom, Back and Escape leave it", async () => {
	const { root } = await openService();
	const [node] = callees(root, ({ depth, total }) => depth === 3 && total > root.total / 50);
	const place = await placeOf(node, root);

	await page.click(place.x, place.y);
	await page.until("!document.getElementById('crumbs').hidden");
	const link = await page.evaluate("location.href");
	assert.match(link, /zoom=[0-9a-f]{16}/);
	assert.equal(await page.evaluate("document.querySelector('#crumb-list [aria-current]').textContent"),
		await inWords(`shortName(${JSON.stringify(node.label)}, ${JSON.stringify(node.type)})`));
	const zoomedPlace = await placeOf(node, node);
	await page.moveTo(zoomedPlace.x - zoomedPlace.width / 2 + 8, zoomedPlace.y);
	await page.until(`document.getElementById('tooltip').innerText.startsWith(${JSON.stringify(node.label)})`);

	await page.open(link);
	await settled();
	assert.equal(await page.evaluate("document.getElementById('crumbs').hidden"), false, "a link shows the same zoom");
	await page.press("Escape");
	await page.until("document.getElementById('crumbs').hidden && !location.search.includes('zoom')");
	await page.evaluate("history.back()");
	await page.until("!document.getElementById('crumbs').hidden");
	await page.clickOn("#back");
	await page.until("document.querySelectorAll('#crumb-list li').length < 4");
	await assertQuiet();
});

test("a search sums the topmost matches only and lists the matching functions", async () => {
	const { root, result } = await openService();
	const deepest = callees(root, () => true).sort((a, b) => b.depth - a.depth)[0];
	const word = deepest.label.replace(/^\[.\] /, "").slice(0, 6).toLowerCase();

	await page.press("/");
	assert.equal(await page.evaluate("document.activeElement.id"), "search");
	await page.type(word);
	const share = matched(root, (label) => label.toLowerCase().includes(word));
	const words = await inWords(`formatShare(${share}, ${root.total})`);
	await page.until(`document.getElementById('match').textContent === ${JSON.stringify(`${words} matched`)}`);
	const rows = await page.evaluate("[...document.querySelectorAll('#functions tbody td.name')].map((cell) => cell.title)");
	assert.ok(rows.length > 0);
	assert.ok(rows.every((name) => name.toLowerCase().includes(word)), rows.join());
	await picture("page-search");

	await page.type(`/^${deepest.label.replace(/[^a-z]/gi, ".")}$/`);
	await page.until("document.querySelectorAll('#functions tbody tr').length >= 1");
	await page.type("/(/");
	await page.until("document.getElementById('match').classList.contains('wrong')");
	await page.press("Escape");
	await page.until("document.getElementById('search').value === '' && document.getElementById('match').textContent === ''");
	assert.ok(result.functions.length > 0);
	await assertQuiet();
});

test("the table has the functions by self and total, and arrow keys move in it", async () => {
	const { result } = await openService();
	const largest = (column) => result.function_values.values
		.map((values, fn) => ({ name: result.functions[fn], type: result.function_types[fn], value: values[column] }))
		.filter(({ type }) => !"PTH".includes(type)).sort((a, b) => b.value - a.value)[0];
	const firstRow = "document.querySelector('#functions tbody td.name').title";
	const valueOf = (name, column) => result.function_values.values[result.functions.indexOf(name)][column];

	assert.equal(valueOf(await page.evaluate(firstRow), 0), largest(0).value);
	await page.clickOn("#sort-total");
	await page.until("location.search.includes('sort=total')");
	const first = await page.evaluate(firstRow);
	assert.equal(valueOf(first, 1), largest(1).value);

	await page.evaluate("document.querySelector('#functions tbody tr').focus()");
	await page.press("ArrowDown");
	const second = await page.evaluate("document.activeElement.querySelector('td.name').title");
	assert.notEqual(second, first);
	await page.press("Enter");
	await page.until(`document.getElementById('search').value === ${JSON.stringify(`"${second}"`)}`);
	await assertQuiet();
});

test("arrow keys move in the graph and describe the frame, Enter zooms", async () => {
	const { root } = await openService();
	const says = (node) => page.until(`document.getElementById('frame-text').textContent.startsWith(${JSON.stringify(node.label)})`);
	let node = root;

	await page.press("ArrowDown"); /* the first key only selects */
	await says(root);
	for (; node.children.length && node.depth < 4; node = node.children[0], await says(node))
		await page.press("ArrowDown");
	assert.ok(node.depth >= 2);
	await page.press("Enter");
	await page.until("!document.getElementById('crumbs').hidden");
	await page.press("ArrowUp");
	const caller = node.depth === 1 ? root : parentOf(root, node);
	await says(caller);
	await page.press("Escape");
	await page.until("document.getElementById('crumbs').hidden");
	await assertQuiet();
});

const parentOf = (root, node) => [root, ...callees(root, () => true)].find(({ id }) => id === node.parent);

test("the picker finds a service by typing, and Total opens each process", async () => {
	await openService();
	await page.clickOn("#service-button");
	await page.until("document.activeElement.id === 'service-search'");
	const listed = await page.evaluate("[...document.querySelectorAll('#service-list [role=option] span:first-child')].map((e) => e.textContent)");
	assert.ok(listed.includes(SERVICE) && listed[0] === "Total", listed.join());
	await page.until("[...document.querySelectorAll('#service-list .note')].some((note) => note.textContent.includes('%'))");
	await page.type("tota");
	await page.press("Enter");
	await page.until("document.getElementById('service-name').textContent === 'Total'");
	await settled();
	const { parameters } = await page.lastAnswer(FLAME);
	assert.equal(parameters.service, "Total");
	assert.equal(await page.text("table-title"), "Top processes");
	assert.equal(await page.evaluate("document.getElementById('sort-total').parentElement.getAttribute('aria-sort')"), "descending");
	const shares = await page.evaluate("[...document.querySelectorAll('#functions tbody tr')].map((row) => Number(row.cells[2].style.getPropertyValue('--part')))");
	assert.ok(shares.length > 1 && shares.every((share, at) => at === 0 || share <= shares[at - 1]), shares.join());
	await picture("page-total");
	await page.evaluate(`[...document.querySelectorAll('#functions tbody tr')].find((row) => row.textContent.startsWith(${JSON.stringify(SERVICE)})).focus()`);
	await page.press("Enter");
	await page.until(`document.getElementById('service-name').textContent === ${JSON.stringify(SERVICE)}`);
	await settled();
	await assertQuiet();
});

test("threads can be folded", async () => {
	await openService();
	await page.clickOn("#fold + span");
	await page.until("location.search.includes('fold=1')");
	const { parameters, root } = await shownProfile();

	assert.equal(parameters.fold_threads, "true");
	assert.deepEqual(root.children.filter(({ type }) => type === "T"), []);
});

/* Returns the rows of a table of the fleet as lists of texts. */
const rowsOf = (card) => page.evaluate(`[...document.querySelectorAll('.fleet .${card} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))`);

async function openFleet(parameters = {}) {
	await page.open(`${url}/?${new URLSearchParams({ last: "1h", ...parameters })}`);
	await page.until("document.getElementById('progress').hidden && document.querySelector('.fleet .figures')");
}

const groupsBy = async (tag) => (await page.lastAnswer("/v1/groups", (parameters) => parameters.get("group_by") === tag)).answer;

test("the landing page ranks services by their share of all CPU time", async () => {
	await openFleet();
	const { groups, total } = await groupsBy("app_service");
	const [largest] = groups.sort((a, b) => b.value - a.value);
	const rows = await rowsOf("services");

	assert.equal(rows[0][0], largest.name);
	assert.equal(rows[0][1], await inWords(`formatShare(${largest.value}, ${total})`));
	const service = rows.find(([name]) => name === SERVICE);
	assert.ok(service, rows.join("; "));
	assert.match(service[4], /ago$/);
	assert.deepEqual(page.requests.filter((request) => new URL(request.url).pathname === FLAME), [], "sums are enough");
	await picture("page-fleet");
	await assertQuiet();
});

test("the landing page has coverage, losses, cost and reductions of each host", async () => {
	await openFleet();
	const fleet = (await page.lastAnswer("/v1/fleet")).answer;
	const { hosts } = (await page.lastAnswer("/v1/hosts")).answer;
	const rows = await rowsOf("hosts");

	for (const host of fleet.hosts) {
		const row = rows.find(([name]) => name === host.name);

		assert.ok(row, `${host.name} is not listed: ${rows}`);
		assert.equal(row[2], await inWords(`formatShare(${host.covered_s}, 3600)`));
		assert.equal(row[3], await inWords(`formatShare(${host.ticks_lost + host.ticks_missed}, ${host.ticks_expected})`));
		assert.equal(row[4], await inWords(`formatShare(${host.agent_cpu}, ${host.counted_s * host.cpus * 1e6})`));
	}
	for (const { labels } of hosts) {
		for (const label of ["agent.reduced", "kernel.lacks"])
			assert.ok(rows.flat().join().includes((labels[label] ?? "").split(",")[0]), `${rows} lack ${label}`);
	}
	await assertQuiet();
});

test("averages are divided by the time that agents covered", async () => {
	await openFleet();
	const { answer } = await page.lastAnswer("/v1/fleet");
	const { total } = await groupsBy("app_service");
	const figures = await page.evaluate("document.querySelector('.fleet .figures').textContent");
	const cpus = answer.hosts.reduce((sum, { covered_s, cpus: count }) => sum + covered_s * count, 0) / answer.covered_s;

	assert.ok(answer.covered_s > 0);
	assert.ok(figures.includes(`${(total / 1e6 / answer.covered_s).toFixed(2)} of ${Number(cpus.toFixed(1))}`), figures);
});

const sendJson = (body) => ({ status: 200, body: JSON.stringify(body) });
const madeUpHost = (name, more) => ({ name, agent_id: name, agent_version: "0", cpus: 4, last_time: Math.floor(Date.now() / 1000), covered_s: 900,
	counted_s: 900, ticks_expected: 100, ticks_lost: 0, ticks_missed: 0, samples: 100, stacks_cut: 0, stacks_lost: 0, waits_lost: 0,
	batches_lost: 0, agent_cpu: 0, ...more });

test("hosts without an agent in the range have no CPUs, and reboots add no rows", async () => {
	const day_ago = Math.floor(Date.now() / 1000) - 86400;
	const hosts = [madeUpHost("a", { covered_s: 450 }), madeUpHost("a", { agent_id: "boot before", covered_s: 450, last_time: day_ago }),
		madeUpHost("b", { covered_s: 450 }), madeUpHost("gone", { covered_s: 0, counted_s: 0, last_time: day_ago })];
	const groups = [{ name: "a", value: 1800e6 }, { name: "gone", value: 7200e6 }];

	await page.intercept("/v1/", (request) => {
		const { pathname, searchParams } = new URL(request.url);
		if (pathname === "/v1/fleet")
			return sendJson({ hosts, covered_s: 900 });
		return pathname === "/v1/groups" && searchParams.get("group_by") === "host" ? sendJson({ groups, count: 2, total: 9000e6, message: "" }) : null;
	});
	await openFleet({ last: "15m" });
	const rows = (await rowsOf("hosts")).map(([name, cpus]) => [name, cpus]);
	assert.deepEqual(rows.slice().sort(), [["a", "2.00 of 4"], ["b", "0.00 of 4"], ["gone", "– of 4"]]);
	const figures = await page.evaluate("document.querySelector('.fleet .figures').innerText");
	assert.match(figures, /2 sampling/);
	assert.match(figures, /of 6\n/, "4 CPUs all the time and 4 for half of it");
	assert.match(figures, /75.0 %/, "covered");
});

test("services are listed if the range has too many batches for the list of hosts", async () => {
	await page.intercept("/v1/fleet", () => ({ status: 400, body: JSON.stringify({ error: "more batches than are read: ask for a shorter range" }) }));
	await openFleet({ last: "24h" });
	assert.match(await page.evaluate("document.querySelector('.fleet .hosts').textContent"), /more batches than are read/);
	assert.ok((await rowsOf("services")).some(([name, , cpus]) => name === SERVICE && cpus === "–"));
	assert.ok(await page.evaluate("document.getElementById('trouble').hidden"));
});

test("ages are computed with the server's clock, not with the browser's", async () => {
	const own = await startFixture();

	try {
		await page.send("Page.addScriptToEvaluateOnNewDocument", { source: "const now = Date.now; Date.now = () => now() + 3600e3;" });
		await page.open(`${own.url}/?last=1h`);
		await page.until("document.querySelector('.fleet .figures')");
		const silent = await page.evaluate("[...document.querySelectorAll('.fleet .hosts tr.silent')].map((row) => row.cells[0].textContent)");
		assert.deepEqual(silent, ["web-2"]);
		assert.match((await rowsOf("hosts")).find(([name]) => name === "web-1")[5], /^\d+ s ago$/);
	} finally {
		own.close();
	}
});

test("the list of unresolved files does not take the focus from a button of the fleet", async () => {
	let release;
	const held = new Promise((resolve) => { release = resolve; });
	const own = await startFixture({ unresolved: async (usual) => {
		await held;
		return { status: 200, body: usual };
	} });

	try {
		await page.open(`${own.url}/?last=1h`);
		await page.until("document.querySelector('.fleet .services .name-button')");
		await page.evaluate("document.querySelector('.fleet .services .name-button').focus()");
		release();
		await page.until("document.querySelector('.unresolved-card')");
		assert.ok(await page.evaluate("document.activeElement.matches('.name-button')"));
	} finally {
		release();
		own.close();
	}
});

test("the fleet requests unresolved files of at most 15 minutes, and shows the error", async () => {
	await page.intercept("/v1/unresolved", () => ({ status: 500, body: JSON.stringify({ error: "too many stacks in this range" }) }));
	await openFleet({ last: "24h" });
	await page.until("/too many stacks in this range/.test(document.querySelector('.unresolved-card')?.textContent)");
	const [parameters] = page.requests.filter((request) => new URL(request.url).pathname === "/v1/unresolved").map(({ url: text }) => new URL(text).searchParams);
	assert.equal(parameters.get("until") - parameters.get("since"), 901, "with the last second");
});

test("a service of the landing page opens its flame graph, and Back the fleet", async () => {
	await openFleet();
	await page.evaluate(`[...document.querySelectorAll('.fleet .services .name-button')].find((e) => e.textContent === ${JSON.stringify(SERVICE)}).focus()`);
	await page.press("Enter");
	await page.until("document.querySelector('#stats dd')");
	assert.equal(await page.text("service-name"), SERVICE);
	await page.evaluate("history.back()");
	await page.until("!document.getElementById('fleet').hidden");
	await assertQuiet();
});

test("a server without data shows how to start an agent", async () => {
	await page.intercept("/v1/", (request) => ({ status: 200, body: JSON.stringify(new URL(request.url).pathname === FLAME
		? { result: null, message: "no on-cpu samples were ever stored" }
		: { services: [], hosts: [], files: [], groups: [], total: 0, message: "no on-cpu samples were ever stored", covered_s: 0 }) }));
	await page.open(`${url}/`);
	await page.until("!document.getElementById('notice').hidden");
	const notice = await page.text("notice");
	assert.ok(notice.includes(`sudo hearth-agent --server ${url}`), notice);
	await picture("page-no-agent");
	await assertQuiet();
});

const troubleText = () => page.until("!document.getElementById('trouble').hidden && document.getElementById('trouble-text').textContent");

test("a wrong filter is explained once, the graph stays, and the filter can be cleared", async () => {
	await openService();
	await page.evaluate("document.getElementById('filter').focus()");
	await page.type("host =");
	await page.press("Enter");
	assert.match(await troubleText(), /^tag_filter: .*; the page still shows /);
	assert.equal(await page.evaluate("document.body.innerText.match(/tag_filter/g).length"), 1);
	assert.ok(await page.evaluate("document.getElementById('notice').hidden && document.querySelector('#stats dd') !== null"));
	await picture("page-filter-error");
	await page.clickOn("#trouble-actions button");
	await page.until("document.getElementById('trouble').hidden && document.querySelector('#stats dd')");
	assert.equal(await page.evaluate("document.getElementById('filter').value"), "");
});

test("for an empty answer the page shows the reason", async () => {
	await page.open(`${url}/?${new URLSearchParams({ service: SERVICE, last: "1h", filter: "host = 'nowhere'" })}`);
	await settled();
	const { answer } = await page.lastAnswer(FLAME);
	const notice = await page.text("notice");

	assert.equal(answer.result, null);
	assert.ok(answer.message.length > 20);
	assert.ok(notice.toLowerCase().includes(answer.message.slice(0, 20).toLowerCase()), notice);
	await picture("page-empty");
	await assertQuiet();
});

test("for a range without samples the page offers the newest ones", async () => {
	await page.open(`${url}/?${new URLSearchParams({ service: SERVICE, since: 1700000000, until: 1700000900 })}`);
	await page.until("!document.getElementById('notice').hidden");
	assert.doesNotMatch(await page.text("notice"), /hearth-agent/);
	await page.evaluate("[...document.querySelectorAll('#notice button')].find((e) => e.textContent === 'Show the newest data').click()");
	await page.until("document.getElementById('notice').hidden && document.querySelector('#stats dd')");
	await assertQuiet();
});

test("an error for a missing scope names the token, and another can be entered", async () => {
	await page.intercept("/v1/", ({ headers }) => headers.Authorization === "Bearer reader" ? null
		: { status: 403, body: JSON.stringify({ error: "token 'build' lacks the scope that '/v1/services' needs: read" }) });
	await page.open(`${url}/?service=${SERVICE}&last=1h`);
	await page.until("/“build” lacks the scope “read”/.test(document.getElementById('notice').textContent)");
	await picture("page-scope");
	await page.clickOn("#notice button");
	await page.until("document.getElementById('token-dialog').open");
	await page.type("reader");
	await page.press("Enter");
	await page.until("document.querySelector('#stats dd')");
});

test("the page prompts for a token if the server needs one, and keeps it in this tab", async () => {
	await page.intercept("/v1/", ({ headers }) => headers.Authorization === "Bearer let-me-in" ? null
		: { status: 401, body: JSON.stringify({ error: "a token is needed" }) });
	await page.open(`${url}/?service=${SERVICE}&last=1h`);
	await page.until("document.getElementById('token-dialog').open");
	await picture("page-token");
	await page.type("wrong");
	await page.press("Enter");
	await page.until("/did not accept/.test(document.getElementById('token-reason').textContent)");
	await page.until("document.getElementById('token-dialog').open && document.activeElement.id === 'token'");
	await page.type("let-me-in");
	await page.press("Enter");
	await page.until("document.querySelector('#stats dd')");
	await page.open(`${url}/?service=${SERVICE}&last=1h`);
	await page.until("document.querySelector('#stats dd')");
});

test("a cancelled prompt for a token can be opened again", async () => {
	await page.intercept("/v1/", () => ({ status: 401, body: JSON.stringify({ error: "a token is needed" }) }));
	await page.open(`${url}/?last=1h`);
	await page.until("document.getElementById('token-dialog').open");
	await page.clickOn("#token-cancel");
	await page.until("!document.getElementById('token-dialog').open");
	await page.clickOn("#notice button");
	await page.until("document.getElementById('token-dialog').open");
});

test("a button that is clicked twice gets its label back", async () => {
	await openService();
	await page.clickOn("#share");
	await page.until("document.getElementById('share').textContent !== 'Copy link'");
	await page.clickOn("#share");
	await page.until("document.getElementById('share').textContent === 'Copy link'");
});

test("after a failed request the graph stays, and a button repeats the request", async () => {
	let gone = false;

	await page.intercept("/v1/", () => gone ? { status: 503, body: JSON.stringify({ error: "closing for repairs" }) } : null);
	await openService({ live: "1" });
	gone = true;
	await page.press("r");
	assert.match(await troubleText(), /closing for repairs; the page still shows /);
	assert.ok(await page.evaluate("document.querySelector('#stats dd') !== null && document.querySelectorAll('#functions tbody tr').length > 0"));
	await picture("page-gone");
	gone = false;
	await page.clickOn("#trouble-actions button");
	await page.until("document.getElementById('trouble').hidden");
});

test("an error without an answer has the time of the first failed request", async () => {
	const away = await startFixture();

	await page.open(`${away.url}/?service=search-api`);
	await page.until("document.querySelector('#stats dd')");
	away.close();
	await page.press("r");
	assert.match(await troubleText(), /has not answered since \d\d:\d\d:\d\d; the page still shows search-api/);
	const first = await page.text("trouble-text");
	await page.press("r");
	await page.until("document.getElementById('progress').hidden");
	assert.equal(await page.text("trouble-text"), first);
});

/* Uses the fixture server, because HEARTH_URL may have no unresolved files. */
test("the list of unresolved files and the tooltips of their frames have the remedies", async () => {
	const own = await startFixture();

	try {
		await page.open(`${own.url}/?service=search-api`);
		await page.until("!document.getElementById('unresolved').hidden");
		const { answer } = await page.lastAnswer("/v1/unresolved");
		await page.clickOn("#unresolved-title");
		const rows = await page.evaluate("[...document.querySelectorAll('#unresolved-files tbody tr')].map((row) => row.textContent)");
		assert.equal(rows.length, answer.files.length);
		for (const [at, file] of answer.files.entries()) {
			for (const words of [file.file, file.build_id.slice(0, 12), file.why, file.remedy, withServer(file.command, own.url)])
				assert.ok(rows[at].includes(words), `${rows[at]} lacks ${words}`);
		}
		await page.clickOn("#unresolved-title");
		const { root } = await shownProfile();
		const [frame] = callees(root, ({ label }) => label === `[${answer.files[0].file}]`).sort((a, b) => b.total - a.total);
		const place = await placeOf(frame, root);
		await page.moveTo(place.x, place.y);
		const text = await page.until("!document.getElementById('tooltip').hidden && document.getElementById('tooltip').innerText");
		for (const words of [answer.files[0].build_id, answer.files[0].why, withServer(answer.files[0].command, own.url)])
			assert.ok(text.includes(words), `${text} lacks ${words}`);
		await assertQuiet(own.url);
	} finally {
		own.close();
	}
});

const withServer = (command, address) => command.replace(/^hearth upload/, `hearth upload --server ${address}`);
const listShown = "!document.getElementById('unresolved').hidden";

test("the list of unresolved files is removed when all names have arrived", async () => {
	const own = await startFixture({ pending: 1, named: true });

	try {
		await page.open(`${own.url}/?service=search-api`);
		await page.until(listShown);
		await page.until(`document.getElementById('names').hidden && !(${listShown})`);
	} finally {
		own.close();
	}
});

test("the list of unresolved files belongs to the selected range", async () => {
	let isHeld = false;
	let release;
	const held = new Promise((resolve) => { release = resolve; });
	const own = await startFixture({ unresolved: async (usual) => {
		if (isHeld)
			await held;
		return { status: 200, body: usual };
	} });

	try {
		await page.open(`${own.url}/?service=search-api`);
		await page.until(listShown);
		isHeld = true;
		await page.clickOn("input[name=range][value='1h'] + span");
		await page.until(`location.search.includes('last=1h') && document.getElementById('progress').hidden && !(${listShown})`);
		release();
		await page.until(listShown);
	} finally {
		release();
		own.close();
	}
});

test("automatic requests wait for the unresolved files", async () => {
	let n_underway = 0;
	let n_most = 0;
	let n_answered = 0;
	/* Longer than the delays between the first requests of the page. */
	const own = await startFixture({ pending: 1000, unresolved: async (usual) => {
		n_most = Math.max(n_most, ++n_underway);
		await new Promise((resolve) => setTimeout(resolve, 3000));
		n_underway--;
		n_answered++;
		return { status: 200, body: usual };
	} });

	try {
		await page.open(`${own.url}/?service=search-api`);
		await page.until(listShown);
		const deadline = Date.now() + 30000;
		while (n_answered < 2 && Date.now() < deadline)
			await new Promise((resolve) => setTimeout(resolve, 50));
		assert.ok(n_answered >= 2);
		assert.equal(n_most, 1);
	} finally {
		own.close();
	}
});

test("a server without the list of unresolved files shows none", async () => {
	const older = await startFixture({ unresolved: false });

	try {
		await page.open(`${older.url}/?service=search-api`);
		await page.until("document.querySelector('#stats dd')");
		await page.until("performance.getEntriesByType('resource').some(({ name }) => name.includes('/v1/unresolved'))");
		assert.ok(await page.evaluate("document.getElementById('unresolved').hidden && document.getElementById('trouble').hidden"));
	} finally {
		older.close();
	}
});

test("figures and legend follow the zoom", async () => {
	const { root } = await openService();
	const [node] = callees(root, ({ depth, total }) => depth === 3 && total > root.total / 50 && total < root.total);
	const place = await placeOf(node, root);

	await page.click(place.x, place.y);
	await page.until("!document.getElementById('crumbs').hidden");
	assert.ok((await page.text("stats")).includes(await inWords(`formatTime(${node.total})`)), await page.text("stats"));
	const kernel = [node, ...callees(node, () => true)].filter(({ type }) => type === "K").reduce((sum, { self }) => sum + self, 0);
	if (kernel > 0)
		assert.ok((await page.text("legend")).includes(await inWords(`formatShare(${kernel}, ${node.total})`)), await page.text("legend"));
});

test("on a phone the head needs at most a quarter of the screen, and the first tap shows details", async () => {
	const phone = await browser.newPage({ width: 390, height: 844 });

	await page.close();
	page = phone;
	const { root } = await openService();
	assert.ok((await page.box("#scroller")).y <= 0.25 * 844, String((await page.box("#scroller")).y));
	assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 390);
	const { x, y } = await placeOf(root.children[0], root);
	const tap = async () => {
		await page.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
		await page.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
	};
	await tap();
	const text = await page.until("!document.getElementById('tooltip').hidden && document.getElementById('tooltip').innerText");
	assert.ok(text.startsWith(root.children[0].label), text);
	assert.ok(await page.evaluate("document.getElementById('crumbs').hidden"));
	await tap();
	await page.until("!document.getElementById('crumbs').hidden");
});

test("the head keeps two rows at 1400 pixels, with a custom range too", async () => {
	const wide = await browser.newPage({ width: 1400, height: 900 });

	await page.close();
	page = wide;
	await openService();
	const { height } = await page.box("header");
	const now_s = Math.floor(Date.now() / 1000);
	await openService({ since: now_s - 3600, until: now_s });
	assert.equal((await page.box("header")).height, height);
	assert.ok(height < 100, String(height));
});

test("pending names appear automatically, and the reasons for other missing names are shown", async () => {
	const pending = await startFixture({ pending: 3, unresolved: false });
	const questions = () => page.requests.filter((request) => new URL(request.url).pathname === FLAME);

	try {
		await page.open(`${pending.url}/?service=search-api`);
		await page.until("/names of 2 executables are being read/.test(document.getElementById('names').innerText)");
		const line = await page.text("names");
		assert.match(line, /is unresolved: symbols are being read \(.+%\), no debuginfo on the server \(.+%\)/);
		await picture("page-names-pending");
		const place = await page.box("#canvas");
		await page.click(place.x + place.width / 2, place.y + 3 * ROW_HEIGHT);
		const zoom = await page.evaluate("location.search");
		await page.until("document.getElementById('names').hidden", 20000);
		assert.equal(questions().length, 4);
		assert.equal(new Set(questions().map((request) => request.url)).size, 1, "the same range is requested again, not a later one");
		assert.equal(await page.evaluate("location.search"), zoom, "the zoom stays");
		await picture("page-names-there");
		/* Longer than the delays between the requests before. */
		await new Promise((resolve) => setTimeout(resolve, 4000));
		assert.equal(questions().length, 4, "and then no more");
	} finally {
		pending.close();
	}
});

test("after a failed request for pending names the graph stays, and a button repeats the request", async () => {
	const pending = await startFixture({ pending: 1000, unresolved: false });
	let gone = false;

	try {
		await page.intercept("/v1/", () => gone ? { status: 503, body: JSON.stringify({ error: "closing for repairs" }) } : null);
		await page.open(`${pending.url}/?service=search-api`);
		await page.until("!document.getElementById('names').hidden");
		gone = true;
		await page.until("document.querySelector('#names button')", 20000);
		assert.match(await page.text("names"), /are still being read/);
		assert.ok(await page.evaluate("document.getElementById('notice').hidden && document.querySelector('#stats dd') !== null"));
		gone = false;
		await page.clickOn("#names button");
		await page.until("document.querySelector('#names.waiting') && !document.querySelector('#names button')", 20000);
	} finally {
		pending.close();
	}
});

test("the theme follows the system", async () => {
	const dark = await browser.newPage({ dark: true, scale: 2 });
	const brightness = (which) => which.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)");

	await openService();
	const light = page;
	await dark.open(await light.evaluate("location.href"));
	await dark.until("document.querySelector('#stats dd')");
	assert.ok(await brightness(light) > 600);
	assert.ok(await brightness(dark) < 150);
	page = dark;
	await picture("page-dark");
	assert.equal(await dark.evaluate("document.getElementById('canvas').width / document.getElementById('canvas').clientWidth"), 2);
	await light.close();
});

test("a profile of a million nodes is drawn, searched and zoomed", async () => {
	const large = await startFixture({ nodes: 1000000 });

	try {
		await page.open(`${large.url}/?service=search-api`);
		await page.until("document.querySelector('#stats dd')", 60000);
		/* The browser does not keep such a large answer; the fixture sends an equal one. */
		const response = await fetch(page.requests.findLast((request) => new URL(request.url).pathname === FLAME).url);
		const { root, nodes } = treeOf((await response.json()).result);
		assert.ok(nodes.length > 900000);
		await page.press("/");
		await page.type("memmove");
		const share = matched(root, (label) => label.includes("memmove"));
		const words = await inWords(`formatShare(${share}, ${root.total})`);
		await page.until(`document.getElementById('match').textContent === ${JSON.stringify(`${words} matched`)}`);
		const place = await placeOf(root.children[0], root);
		await page.click(place.x, place.y);
		await page.until("!document.getElementById('crumbs').hidden");
	} finally {
		large.close();
	}
});

const legendText = () => page.text("legend");
const queryOf = async () => new URLSearchParams(new URL(await page.evaluate("location.href")).search);

async function choose(id, value) {
	await page.evaluate(`(() => {
		const control = document.getElementById("${id}");
		control.value = "${value}";
		control.dispatchEvent(new Event("change", { bubbles: true }));
	})()`);
}

test("a profile compared with itself has no change, and the URL has the choices", async () => {
	const { root } = await openService({ base: "same" });
	const place = await placeOf(root, root);

	assert.match(await legendText(), /half the share.*double.*new.*gone/s);
	await page.moveTo(place.x, place.y);
	await page.until("!document.getElementById('tooltip').hidden");
	const facts = await page.text("tooltip");
	assert.ok(facts.includes("+0.0 % (+0.00 points)"), facts);
	assert.ok(facts.includes(await inWords(`formatTime(${root.total})`)), facts);
	await page.evaluate("document.getElementById('absolute').click()");
	assert.match(await legendText(), /half the value per second/);
	assert.equal((await queryOf()).get("absolute"), "1");
	assert.equal((await queryOf()).get("base"), "same");
	await picture("page-difference");
	await choose("base", "");
	await settled();
	assert.doesNotMatch(await legendText(), /gone/);
	assert.equal((await queryOf()).get("base"), null);
	await assertQuiet();
});

test("without samples to compare with, the graph stays and a sentence has the reason", async () => {
	await page.open(`${url}/?${new URLSearchParams({ service: SERVICE, last: "1h", base: "7d" })}`);
	await settled();
	assert.match(await page.text("losses"), /[Nn]othing to compare with/);
	assert.doesNotMatch(await legendText(), /gone/);
	await assertQuiet();
});

/* The generated profile has one answer for all requests. */
const needsServer = { skip: process.env.HEARTH_URL ? false : "needs a server" };

test("the callers and the callees of a frame can be shown instead of the whole profile", needsServer, async () => {
	await openService();
	assert.equal(await page.evaluate("document.getElementById('side').hidden"), true);
	const sides = () => page.evaluate("document.querySelectorAll('#frame-actions .side').length");
	for (let presses = 0; presses < 8 && await sides() === 0; presses++)
		await page.press("ArrowDown");
	assert.equal(await sides(), 2);
	const name = (await page.text("frame-text")).split(" — ")[0];

	await page.evaluate("document.querySelectorAll('#frame-actions .side')[1].click()");
	const below = await shownProfile();
	assert.equal((await queryOf()).get("callees_of"), name);
	assert.equal(below.parameters.callees_of, name);
	assert.match(await page.text("side"), /^Callees of /);
	assert.deepEqual(below.root.children.map(({ label }) => label), [name]);

	/* Samples of the last seconds may arrive between the two answers. */
	const range = { service: SERVICE, since: below.parameters.since, until: below.parameters.until - 20 };
	await page.open(`${url}/?${new URLSearchParams({ ...range, callees_of: name })}`);
	const { root: callees } = await shownProfile();
	await page.open(`${url}/?${new URLSearchParams({ ...range, callers_of: name })}`);
	const above = await shownProfile();
	assert.deepEqual(above.root.children.map(({ label }) => label), [name]);
	assert.equal(above.root.total, callees.total);
	assert.match(await page.text("side"), /^Callers of /);
	await picture("page-callers");
	await page.clickOn("#side button");
	const { root } = await shownProfile();
	assert.ok(root.total >= above.root.total);
	assert.equal((await queryOf()).get("callers_of"), null);
	assert.equal(await page.evaluate("document.getElementById('side').hidden"), true);
	await assertQuiet();
});

test("the source lines of a function are shown with their values", async () => {
	await openService();
	/* A function without a name has a button for its instructions only. */
	const n_buttons = () => page.evaluate("[...document.querySelectorAll('#frame-actions .lines')].filter((b) => b.textContent === 'Lines').length");
	for (let presses = 0; presses < 12 && await n_buttons() === 0; presses++)
		await page.press("ArrowDown");
	assert.equal(await n_buttons(), 1);
	const name = (await page.text("frame-text")).split(" — ")[0];

	await page.clickOn("#frame-actions .lines");
	await page.until("document.querySelector('#lines-files tbody tr')");
	const { parameters, answer } = await page.lastAnswer("/v1/source");
	assert.equal(parameters.function, name);
	assert.equal(await page.text("lines-title"), name);
	assert.match(await page.text("lines-sums"), / in its own code, .* with the functions that it calls$/);
	const numbers = await page.evaluate("[...document.querySelectorAll('#lines-files tr.hot td:first-child')].map((cell) => cell.textContent).join()");
	assert.equal(numbers, answer.files.flatMap(({ lines }) => lines.filter(({ total_value }) => total_value > 0).map(({ line }) => line || "?")).join());
	if (!process.env.HEARTH_URL) {
		const code = await page.evaluate("[...document.querySelectorAll('#lines-files .code')].map((cell) => cell.textContent.trim()).join()");
		const around = (line) => Array.from({ length: 7 }, (_, i) => `line(${line - 3 + i});`).join();
		assert.ok(code.startsWith(`${around(12)},${around(40)},`), code);
		assert.match(await page.text("lines-files"), /was not uploaded/);
	}
	await picture("page-lines");

	/* The switch to instructions is reached by keys. */
	await page.evaluate("document.getElementById('lines-source').focus()");
	await page.press("Tab");
	assert.equal(await page.evaluate("document.activeElement.id"), "lines-instructions");
	await page.press("Enter");
	await page.until("document.getElementById('lines-instructions').ariaPressed === 'true' && document.querySelector('#lines-files table')");
	const shown = await page.lastAnswer("/v1/disassembly");
	assert.equal(shown.parameters.function, name);
	const addresses = await page.evaluate("[...document.querySelectorAll('#lines-files tr.hot td:nth-child(3)')].map((cell) => cell.textContent).join()");
	assert.equal(addresses, shown.answer.files.flatMap(({ instructions }) => instructions.filter(({ total_value }) => total_value > 0)
		.map(({ address }) => address)).join());
	if (!process.env.HEARTH_URL) {
		const texts = await page.evaluate("[...document.querySelectorAll('#lines-files .place')].map((row) => row.textContent).join('|')");
		assert.ok(texts.startsWith("search, search api.c:12  line(12);|helper, search api.c:40  line(40);|"), texts);
		assert.match(await page.text("lines-files"), /call 0x2000 {2}<next>.*… 8 instructions.*The server has no file with the code\./s);
		await picture("page-instructions");
		await page.clickOn("#lines-files .gap button");
		assert.equal(await page.evaluate("document.querySelectorAll('#lines-files table:first-of-type tbody tr:not(.place)').length"), 20);
	}
	await page.clickOn("#lines-close");
	await page.until("!document.getElementById('lines').open");
});

test("the menu exports the shown selection in every format", async () => {
	const { parameters } = await openService();
	const formats = await page.evaluate("[...document.querySelectorAll('#export-formats button')].map((button) => button.dataset.format).join()");

	assert.equal(formats, "pprof,folded,speedscope,gecko,perfetto,autofdo,json,csv,svg,html");
	await page.evaluate("document.getElementById('export').open = true");
	await page.evaluate("document.querySelector('[data-format=folded]').click()");
	await page.until("!document.getElementById('export').open");
	const limit = Date.now() + 30000;
	let asked;
	while (!(asked = page.requests.find(({ url: address }) => address.includes("/v1/export"))) && Date.now() < limit)
		await page.evaluate("1");
	const query = new URL(asked.url).searchParams;
	assert.equal(query.get("format"), "folded");
	assert.equal(query.get("service"), SERVICE);
	assert.equal(query.get("since"), String(parameters.since));
	assert.equal(query.get("until"), String(parameters.until));
});
