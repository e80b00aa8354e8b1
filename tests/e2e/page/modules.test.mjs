/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tests the pure functions of the page's modules without the page, in a browser, because they are modules for browsers.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { startBrowser } from "./browser.mjs";
import { startFixture } from "./fixture_server.mjs";

let fixture, browser, page;

before(async () => {
	fixture = await startFixture();
	browser = await startBrowser(process.env.CHROMIUM ?? "chromium");
	page = await browser.newPage();
	await page.open(`${fixture.url}/icon.svg`);
});

after(async () => {
	await browser?.close();
	fixture?.close();
});

const call = (module, expression) => page.evaluate(`import("/${module}.js").then((m) => ${expression})`);

test("requests for names have growing delays and end", async () => {
	const waits = await call("names", `(() => {
		const backoff = new m.Backoff(), waits = [];
		for (let wait; (wait = backoff.next()) !== null && waits.length < 1000;)
			waits.push(wait);
		return waits;
	})()`);

	assert.ok(waits.length > 10 && waits.length < 100, `${waits.length} requests`);
	assert.ok(waits.every((wait, at) => wait >= 1000 && wait >= (waits[at - 1] ?? 0)), String(waits));
	const sum_s = waits.reduce((sum, wait) => sum + wait, 0) / 1000;
	assert.ok(sum_s > 120 && sum_s < 600, `${sum_s} s`);
	assert.equal(await call("names", "(() => { const p = new m.Backoff(); p.stop(); const over = p.next(); p.reset(); return [over, p.next()]; })().join()"),
		",1000");
});

test("lines with values are shown with the lines around them", async () => {
	const shown = (lines, text) => call("lines", `m.rowsOf(${JSON.stringify(lines)}, ${JSON.stringify(text)}).map((row) => row.gap ? "…"
		: [row.line, row.self_value, row.total_value, row.text].join(" ")).join("|")`);
	const text = Array.from({ length: 20 }, (_, i) => `l${i + 1}`).join("\n");

	assert.equal(await shown([{ line: 0, self_value: 1, total_value: 1 }, { line: 2, self_value: 0, total_value: 5 }, { line: 19, self_value: 3, total_value: 4 }], text),
		"0 1 1 |1 0 0 l1|2 0 5 l2|3 0 0 l3|4 0 0 l4|5 0 0 l5|…|16 0 0 l16|17 0 0 l17|18 0 0 l18|19 3 4 l19|20 0 0 l20");
	assert.equal(await shown([{ line: 7, self_value: 1, total_value: 2 }, { line: 9, self_value: 1, total_value: 2 }], null), "7 1 2 |…|9 1 2 ");
	assert.equal(await shown([{ line: 4000000000, self_value: 1, total_value: 2 }], text), "4000000000 1 2 ");
});

test("instructions without values are divided from those around one with a value", async () => {
	const runs = (values, block = () => 0) => call("instructions", `m.runsOf(${JSON.stringify(values.map((total_value, i) => ({ total_value, block: block(i) })))})
		.map(({ shown, hidden }) => shown ? shown.length : -hidden.length).join(" ")`);

	assert.equal(await runs([]), "");
	assert.equal(await runs([0, 0]), "-2");
	assert.equal(await runs([...Array(10).fill(0), 1, ...Array(10).fill(0)]), "-6 9 -6");
	assert.equal(await runs([1, ...Array(9).fill(0), 1]), "5 -1 5");
	assert.equal(await runs([1, ...Array(8).fill(0), 1]), "10");
	assert.equal(await runs([1, 0, 0, 1], (i) => Math.floor(i / 2)), "2 2");
});

test("reasons for missing names are sorted by their share", async () => {
	assert.deepEqual(await call("names", `m.reasonsOf({ "unsymbolized-stripped": 5, "unsymbolized-pending": 7, "unsymbolized-outside": 0, lost: 3 })`),
		[["symbols are being read", 7], ["only a stripped file on the server", 5]]);
});

test("losses are a sentence without the symbol tables that another line shows", async () => {
	const shown = (description) => call("names", `(() => {
		const line = { textContent: "before", hidden: false };
		m.showLosses(line, ${JSON.stringify(description)});
		return [line.textContent, line.hidden];
	})()`);

	assert.deepEqual(await shown(""), ["", true]);
	assert.deepEqual(await shown("the symbol tables of 2 executables are being made: ask again"), ["", true]);
	assert.deepEqual(await shown("no agent ran on host 'a' from x to y; the symbol tables of 1 executables are being made; 3 lost"),
		["No agent ran on host 'a' from x to y; 3 lost.", false]);
});

test("values are formatted for people", async () => {
	const cases = [
		["formatTime(0)", "0 µs"], ["formatTime(999)", "999 µs"], ["formatTime(1000)", "1 ms"], ["formatTime(10101)", "10.1 ms"],
		["formatTime(999499)", "999 ms"], ["formatTime(999500)", "1.00 s"], ["formatTime(59949999)", "59.9 s"],
		["formatTime(59950000)", "1 m 0 s"], ["formatTime(3600e6)", "1 h 0 m"], ["formatTime(90061e6)", "1 d 1 h"],
		["formatAge(3)", "3 s"], ["formatAge(120)", "2 m"], ["formatAge(7200)", "2 h"], ["formatAge(864000)", "10 d"], ["formatBytes(0)", "0 B"], ["formatBytes(999)", "999 B"], ["formatBytes(1000)", "0.98 KiB"], ["formatBytes(3 * 1024 ** 3)", "3 GiB"],
		["formatShare(0, 5)", "0 %"], ["formatShare(1, 1e6)", "< 0.01 %"], ["formatShare(1, 1000)", "0.10 %"], ["formatShare(5, 5)", "100 %"],
		["formatShare(1, 0)", "0 %"], ["formatCount(1234567)", "1\u2009234\u2009567"],
		["shortName('[k] do_idle', 'K')", "do_idle"], ["shortName('[k] [ext4]', 'K')", "[ext4]"], ["shortName('[/a.so]', '?')", "[/a.so]"],
	];

	for (const [expression, expected] of cases)
		assert.equal(await call("format", `m.${expression}`), expected, expression);
});

test("a link contains exactly the values that differ from the defaults", async () => {
	const cases = ["", "?service=a+b&event=off-cpu", "?service=x&since=100&until=200", "?service=x&last=24h&filter=host+%3D+%27a%26b%27&fold=1",
		"?service=x&search=%2Ffoo%2F&sort=total&zoom=0123456789abcdef"];

	for (const text of cases)
		assert.equal(await call("state", `m.urlFromState(m.stateFromUrl(${JSON.stringify(text)}))`), text || "./");
	assert.equal(await call("state", `m.stateFromUrl("?last=soon").last`), "15m");
	assert.deepEqual(await call("state", `m.rangeOf(m.stateFromUrl("?last=5m"), 1000)`), { since: 700, until: 1000 });
	assert.equal(await call("state", `m.stateFromUrl("?since=200&until=100").since`), 0);
});

test("the table of whole hosts is sorted by total unless the reader chose a column", async () => {
	const cases = [["", false, "self"], ["", true, "total"], ["?sort=self", true, "self"], ["?sort=total", false, "total"],
		["?sort=name", false, "self"], ["?sort=name", true, "total"]];

	for (const [text, ofHosts, by] of cases)
		assert.equal(await call("state", `m.sortOf(m.stateFromUrl("${text}"), ${ofHosts})`), by, `${text} ${ofHosts}`);
});

test("services are ranked by CPU time, with one row each", async () => {
	const rows = ["on-cpu", "off-cpu"].flatMap((event) => [{ name: "a", event, hosts: 1, last_time: 5 }, { name: "b;c", event, hosts: 2, last_time: 9 }]);
	const totals = "{ values: new Map([['a', 10], ['b;c', 30], ['kworker', 20]]), whole: 60 }";
	const ranked = await call("ranking", `m.rankServices(${JSON.stringify(rows)}, ${totals}).map(({ name, share, events }) => [name, share, events.length])`);

	assert.deepEqual(ranked, [["b;c", 0.5, 2], ["kworker", 20 / 60, 0], ["a", 10 / 60, 2]]);
	assert.deepEqual(await call("ranking", `m.rankServices(${JSON.stringify(rows)}, null).map(({ name }) => name)`), ["a", "b;c"]);
});

test("services with a tiny share are folded, beyond the ten largest", async () => {
	const folded = (count, small) => call("ranking", `(() => { const items = Array.from({ length: ${count} }, (_, at) =>
		({ name: String(at), value: at < 3 ? 10 : ${small}, share: at < 3 ? 0.33 : 0.0001 })); return m.foldSmall(items).n_folded; })()`);

	assert.equal(await folded(12, 1), 2);
	assert.equal(await folded(12, 0), 9);
	assert.equal(await call("ranking", "m.foldSmall([{ value: 0, share: 0 }, { value: 0, share: 0 }]).n_folded"), 0);
});

test("names that begin with the typed text are listed before names that contain it", async () => {
	const names = ["erlang-base.pos", "depot", "postgres", "Portal", "nginx"];

	assert.deepEqual(await call("ranking", `m.fittingItems(${JSON.stringify(names.map((name) => ({ name })))}, "po").map(({ name }) => name)`),
		["postgres", "Portal", "erlang-base.pos", "depot"]);
});

test("the filter field suggests hosts and labels, and keeps the text before the last condition", async () => {
	const hosts = JSON.stringify([{ name: "web-1", labels: { rack: "r'7", "a.b": "c", "agent.reduced": "x" } }]);
	const conditions = await call("suggestions", `m.conditionsOf(${hosts})`);

	assert.deepEqual(conditions.slice(0, 3), ["host = 'web-1'", "rack = 'r''7'", "`a.b` = 'c'"]);
	assert.ok(!conditions.some((condition) => condition.includes("agent.reduced")));
	assert.deepEqual(await call("suggestions", `m.filtersFor("thread = 'a' AND ho", ["host = 'b'"])`), ["thread = 'a' AND host = 'b'"]);
	assert.deepEqual(await call("suggestions", `m.filtersFor("ho", ["host = 'b'"])`), ["host = 'b'"]);
});

test("a suggestion replaces the text after the last AND, OR, NOT or parenthesis between conditions", async () => {
	const cases = [["", "", ""], ["thread NOT LIKE 'gc*' AND ", "thread NOT LIKE 'gc*' AND ", ""], ["thread NOT LI", "", "thread NOT LI"],
		["host = 'a AND b' or (not ", "host = 'a AND b' or (not ", ""], ["host = 'it''s OR ", "", "host = 'it''s OR "],
		["host = 'a' AND or", "host = 'a' AND ", "or"], ["host IN ('a', 'b') AND h", "host IN ('a', 'b') AND ", "h"]];

	for (const [text, before, typed] of cases)
		assert.deepEqual(await call("suggestions", `m.filtersFor(${JSON.stringify(text)}, [${JSON.stringify(`${typed}#`)}])`), [`${before}${typed}#`], text);
});

test("conditions with the typed text are suggested even if many hosts precede them", async () => {
	const conditions = JSON.stringify([...Array.from({ length: 500 }, (_, at) => `host = 'a${at}'`), "rack = 'r7'"]);

	assert.deepEqual(await call("suggestions", `m.filtersFor("rack", ${conditions})`), ["rack = 'r7'"]);
	assert.equal(await call("suggestions", `m.filtersFor("host", ${conditions}).length`), 60);
});

test("a command names the server by the address of the page", async () => {
	const own = "https://hearth.example/profiles";
	const cases = [["hearth upload a", own, `hearth upload --server ${own} a`],
		["hearth upload --server http://127.0.0.1:20416 --force a", own, `hearth upload --server ${own} --force a`],
		["hearth upload --server https://hearth.example a", own, `hearth upload --server ${own} a`],
		["hearth upload --server https://other.example a", own, "hearth upload --server https://other.example a"],
		["hearth upload --server 'http://localhost:20416' a", "http://h/a'b", "hearth upload --server 'http://h/a'\\''b' a"],
		["hearth upload a", "http://127.0.0.1:20416", "hearth upload a"],
		["hearth upload a", "http://localhost:8080", "hearth upload --server http://localhost:8080 a"],
		["", own, ""], ["ls", own, "ls"]];

	for (const [command, address, expected] of cases)
		assert.equal(await call("commands", `m.withServer(${JSON.stringify(command)}, ${JSON.stringify(address)})`), expected, command);
	for (const [href, address] of [["http://h:1/", "http://h:1"], ["https://h/p/q/index.html?service=a", "https://h/p/q"], ["https://h/p/", "https://h/p"]])
		assert.equal(await call("commands", `m.serverOf(new URL("${href}"))`), address);
});

const bootOf = (name, more) => ({ name, agent_id: "a", cpus: 8, last_time: 1000, covered_s: 100, counted_s: 100, ticks_expected: 10,
	ticks_lost: 1, ticks_missed: 0, samples: 5, stacks_cut: 0, agent_cpu: 7, ...more });

test("a host with two boots is one row, with the sums of both", async () => {
	const boots = [bootOf("x", {}), bootOf("x", { agent_id: "b", last_time: 2000, cpus: 16, covered_s: 300 }), bootOf("y", { covered_s: 0 })];
	const [x, y, ...rest] = await call("hosts", `m.hostsByName(${JSON.stringify(boots)}, 900)`);

	assert.deepEqual(rest, []);
	assert.deepEqual([x.agent_id, x.last_time, x.covered_s, x.cpus, x.ticks_expected, x.agent_cpu], ["b", 2000, 400, 14, 20, 14]);
	assert.deepEqual([y.name, y.cpus, y.cpu_s], ["y", 8, 0]);
});

test("losses of a host are notes if they are not small", async () => {
	const notesOf = (more) => call("hosts", `m.lossNotesOf(${JSON.stringify(bootOf("x", { samples: 100, ...more }))})`);

	assert.deepEqual(await notesOf({ stacks_cut: 9, batches_lost: 0, clock_offset_ms: -1999, losses: { gap_s: 0 } }), []);
	assert.deepEqual(await notesOf({ stacks_cut: 12, batches_lost: 2, clock_offset_ms: 12500, losses: { gap_s: 95, frequency_lowered_s: 60 } }),
		["no agent for 95 s", "2 batches are missing", "12 % of the stacks end early", "frequency lowered for 60 s",
			"its clock is 12.5 s ahead of the server's"]);
});

test("two machines with the same name do not cover more than the range", async () => {
	const twins = [bootOf("x", { covered_s: 900 }), bootOf("x", { agent_id: "b", covered_s: 900 })];
	const [x] = await call("hosts", `m.hostsByName(${JSON.stringify(twins)}, 900)`);

	assert.deepEqual([x.covered_s, x.cpus], [900, 16]);
});

test("the title of the unresolved files has the number of files, or of the listed ones", async () => {
	const rows = [{ file: "/a", build_id: "1" }, { file: "/a", build_id: "1" }, { file: "/b", build_id: "2" }];
	const titleOf = (more) => call("unresolved", `m.unresolvedTitle(${JSON.stringify({ files: rows, total: 10, unresolved: 1, ...more })})`);

	assert.match(await titleOf({}), /^10.0 % unresolved, in 2 files:/);
	assert.match(await titleOf({ count: 3 }), /in 2 files:/);
	assert.match(await titleOf({ count: 500 }), /the 3 largest of 500 causes:/);
});

test("results of a selection are kept for the same selection and for its continuation", async () => {
	const before = { service: "a", event: "on-cpu", filter: "", since: 1, until: 5 };
	const cases = [[{ ...before }, true], [{ ...before, since: 2, until: 6 }, false], [{ ...before, since: 2, until: 6, continues: true }, true],
		[{ ...before, filter: "x", continues: true }, false]];

	for (const [selection, expected] of cases)
		assert.equal(await call("state", `m.isSameSelection(${JSON.stringify(before)}, ${JSON.stringify(selection)})`), expected);
	assert.equal(await call("state", `m.isSameSelection(undefined, ${JSON.stringify(before)})`), false);
});

test("frames are matched with the file that contains them", async () => {
	const files = JSON.stringify([{ file: "/usr/lib/libz.so.1.2", build_id: "1" }, { file: "/opt/app", build_id: "2" }, { file: "ext4", build_id: "3" },
		{ file: "/opt/app", build_id: "2", reason: "outside" }, { file: "/srv/app", build_id: "4" }]);
	const cases = [["[/usr/lib/libz.so.1.2]", [0]], ["libz.so.1.2+0x5e20", [0]], ["[l] libz.so.1.2+0x5e20", [0]], ["[/opt/app]", [1]], ["[k] [ext4]", [2]],
		["app+0x10", [1, 4]], ["deflate", []], ["[unknown] 0x00007f31c02a4410", []]];

	for (const [label, at] of cases) {
		assert.deepEqual(await call("unresolved", `(() => { const files = ${files};
			return m.filesOfFrame(${JSON.stringify(label)}, files).map((file) => files.indexOf(file)); })()`), at, label);
	}
});

test("a frame that several files may contain has no command", async () => {
	const files = JSON.stringify([{ file: "/opt/app", build_id: "0123456789abcdef", why: "w", command: "c" }, { file: "/srv/app", build_id: "", why: "w", command: "d" }]);
	const facts = await call("unresolved", `m.factsOfFiles(${files})`);

	assert.equal(facts[0][1], "one of /opt/app (build-ID 0123456789ab), /srv/app");
	assert.ok(!facts.flat().some((text) => text === "c" || text === "d"));
});

/* root 10 → a 7 (→ b 4 → a 3, c 1), a's other child d 0; b 2 */
const ANSWER = { OPT_STATUS: "SUCCESS", DESCRIPTION: "", debug: null, result: {
	functions: ["root", "a", "b", "c \"node_values\": {\"columns\":[],\"values\":["],
	function_types: ["P", "A", "L", "K"],
	function_values: { columns: ["self_value", "total_value"], values: [[1, 10], [5, 7], [3, 6], [1, 1]] },
	node_values: { columns: ["function_id", "parent_node_id", "self_value", "total_value"],
		values: [[0, -1, 1, 10], [1, 0, 2, 7], [2, 1, 1, 4], [1, 2, 3, 3], [3, 1, 1, 1], [2, 0, 2, 2]] } } };

const withTree = (expression, answer = ANSWER) => call("columns",
	`(() => { const { answer, nodes } = m.parseAnswer(${JSON.stringify(JSON.stringify(answer))}); const tree = m.treeFromColumns(answer.result, nodes); return ${expression}; })()`);

test("columns are converted to a tree with edges, depths and ends", async () => {
	assert.deepEqual(await withTree("[...tree.start]"), [0, 0, 0, 0, 4, 7]);
	assert.deepEqual(await withTree("[...tree.depth]"), [0, 1, 2, 3, 2, 1]);
	assert.deepEqual(await withTree("[...tree.end]"), [6, 5, 4, 4, 5, 6]);
	assert.deepEqual(await withTree("m.pathOf(tree, 3)"), ["a", "b", "a"]);
	assert.equal(await withTree("m.nodeAt(tree, ['a', 'b', 'gone'])"), 2);
	assert.equal(await withTree("m.nodeOfHash(tree, m.hashOfPath(tree, 3))"), 3);
	assert.equal(await withTree("m.nodeOfHash(tree, '0123456789abcdef')"), 0);
});

test("a recursive function counts once, in searches and in subtrees", async () => {
	assert.equal(await withTree("m.sumOfTotals(tree, m.topmostMatches(tree, m.matchFunctions(tree, 'A'), 0))"), 7);
	assert.equal(await withTree("m.sumOfTotals(tree, m.topmostMatches(tree, m.matchFunctions(tree, '\"b\"'), 0))"), 6);
	assert.equal(await withTree("m.topmostMatches(tree, m.matchFunctions(tree, 'kind:kernel'), 0).length"), 1);
	assert.deepEqual(await withTree("[...m.functionValues(tree, 1).total]"), [0, 7, 4, 1]);
	assert.deepEqual(await withTree("[...m.functionValues(tree, 1).self]"), [0, 5, 1, 1]);
});

test("an answer out of order is refused", async () => {
	const broken = [[[0, 0, 1, 1]], [[0, -1, 0, 1], [1, 2, 0, 1], [1, 1, 1, 1]], [[0, -1, 0, 2], [1, 0, 0, 1], [1, 0, 1, 1], [2, 1, 1, 1]],
		[[9, -1, 1, 1]], [[0, -1, 1]], []];

	for (const values of broken) {
		const answer = structuredClone(ANSWER);
		answer.result.node_values.values = values;
		await assert.rejects(withTree("tree.n", answer), /The answer's/, JSON.stringify(values));
	}
});

test("the difference of two profiles has the frames of both, with their values", async () => {
	const rows = await call("difference", `import("/columns.js").then(({ treeFromColumns, labelOf }) => {
		const make = (functions, rows) => treeFromColumns({ functions, function_types: functions.map(() => "A"),
			function_values: { columns: ["self_value", "total_value"], values: functions.map(() => [0, 0]) },
			node_values: { columns: ["function_id", "parent_node_id", "self_value", "total_value"] } }, Float64Array.from(rows.flat()));
		const after = make(["svc", "a", "b"], [[0, -1, 0, 100], [1, 0, 60, 60], [2, 0, 40, 40]]);
		const base = make(["old", "b", "c", "d"], [[0, -1, 0, 200], [1, 0, 20, 160], [2, 1, 140, 140], [3, 0, 40, 40]]);
		const tree = m.differenceOf(after, base, 10, 10);
		return [...Array(tree.n).keys()].map((i) => [labelOf(tree, i), tree.depth[i], tree.total[i], tree.baseTotal[i], tree.width[i],
			m.changeText(tree, i, false), m.changeText(tree, i, true)].join(" "));
	})`);

	/* The base has twice the value: its frames are drawn half as wide. */
	assert.deepEqual(rows, ["svc 0 100 200 190 +0.0 % −50 %", "b 1 40 160 110 −50 % −75 %", "c 2 0 140 70 gone gone", "a 1 60 0 60 new new",
		"d 1 0 40 20 gone gone"]);
});

test("a base is as long as the selection, and directly before it or at an earlier time", async () => {
	const base = (state) => call("difference", `m.baseSelection(${JSON.stringify({ base: "", base_service: "", ...state })},
		{ service: "s", since: 1000, until: 1899 })`);

	assert.equal(await base({}), null);
	assert.deepEqual(await base({ base: "before" }), { service: "s", since: 100, until: 999 });
	assert.deepEqual(await base({ base: "1h" }), { service: "s", since: -2600, until: -1701 });
	assert.deepEqual(await base({ base: "same", base_service: "t" }), { service: "t", since: 1000, until: 1899 });
	assert.deepEqual(await base({ base_service: "t" }), { service: "t", since: 1000, until: 1899 });
});
