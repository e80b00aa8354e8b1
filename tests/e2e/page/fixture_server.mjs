/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Serves the page from the source folder with a generated profile, to work on the page without a server:
 *
 *   node tests/e2e/page/fixture_server.mjs [PORT [NODES [TOKEN [PENDING]]]]
 *
 * The first PENDING answers report pending symbol tables and have no names for a quarter of the functions.
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { HOSTS, makeProfile } from "./fixture_profile.mjs";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "../../../symbolizer/ui");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const SERVICES = [["checkout", 12], ["nginx", 40], ["postgres", 3], ["search-api", 8], ["erlang-base.pos", 2], ["sh", 1]];
const FILES = [
	{ file: "/usr/lib/libvendor.so.3", build_id: "5d41402abc4b2a76b9719d911017c592aabbccdd", share: 0.7, reason: "stripped",
		why: "The server has this file, but it has no symbols.", remedy: "Install its debug package on any host and upload it.",
		command: "hearth upload /usr/lib/debug/.build-id/5d/41402abc4b2a76b9719d911017c592aabbccdd.debug", services: ["search-api"] },
	{ file: "/opt/checkout/lib/a-library-with-a-long-name-for-its-path.so", build_id: "", share: 0.1, reason: "no_debuginfo",
		why: "The file has no build-ID, so nothing can be uploaded for it.", remedy: "Link it with --build-id.", command: "", services: ["checkout", "nginx"] },
];

const LINES = { self_value: 3e6, total_value: 5e6, event: "on-cpu", unit: "microseconds", message: "", files: [
	{ file: "/src/search api.c", function: "search", build_id: FILES[0].build_id, lines: [{ line: 12, self_value: 2e6, total_value: 3e6 },
		{ line: 40, self_value: 0, total_value: 1e6 }] },
	{ file: "/src/not_uploaded.c", function: "search", build_id: FILES[0].build_id, lines: [{ line: 7, self_value: 1e6, total_value: 1e6 }] },
	{ file: "", function: "search", build_id: "", lines: [{ line: 0, self_value: 0, total_value: 2e4 }] } ] };

/* 20 instructions, of which the second, the third and the last one have values. The third is of an inlined function. */
const CODE = { self_value: 3e6, inlined_value: 1e6, total_value: 5e6, without_code_value: 0, files_left_out: 0, event: "on-cpu",
	unit: "microseconds", message: "", files: [
		{ file: "search-api", build_id: FILES[0].build_id, machine: "x86-64", code: "decoded", message: "", left_out_bytes: 0,
			blocks: [{ address: "0x1000", size: 60 }],
			places: [{ function: "search", file: "/src/search api.c", line: 12 },
				{ function: "helper", file: "/src/search api.c", line: 40, caller: 0 }],
			instructions: Array.from({ length: 20 }, (_, i) => ({ address: `0x${(0x1000 + 3 * i).toString(16)}`, block: 0, bytes: "0f1f00",
				mnemonic: i === 1 ? "call" : "nop", operands: i === 1 ? "0x2000" : "dword ptr [rax]", place: i === 2 ? 1 : 0,
				...(i === 1 ? { target: "0x2000", target_function: "next", self_value: 0, total_value: 1e6 } : {}),
				...(i === 2 ? { self_value: 1e6, total_value: 1e6 } : {}), ...(i === 19 ? { self_value: 3e6, total_value: 3e6 } : {}) })) },
		{ file: "libvendor.so.3", build_id: FILES[0].build_id, machine: "", code: "no_file", message: "The server has no file with the code.",
			left_out_bytes: 0, blocks: [{ address: "0x10", size: 60 }], places: [],
			instructions: [{ address: "0x18", block: 0, self_value: 0, total_value: 5 }] }] };

/*
 * @unresolved: true if the server has GET /v1/unresolved, or a function from its usual answer to {status, body}. @named:
 * profiles without pending tables have all names.
 */
export async function startFixture({ port = 0, nodes = 4000, token = "", pending = 0, unresolved = true, named = false } = {}) {
	const fixture = { nodes, token, pending, unresolved, named, cache: new Map() };
	const server = createServer((request, response) => {
		answer(request, response, fixture).catch((error) => {
			response.writeHead(500, { "Content-Type": "text/plain" }).end(String(error));
		});
	});

	await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
	return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

async function answer(request, response, fixture) {
	const { token } = fixture;
	const url = new URL(request.url, "http://localhost");

	if (url.pathname.startsWith("/v1/") && token && request.headers.authorization !== `Bearer ${token}`)
		sendJson(response, 401, { error: "a token is needed" });
	else if (url.pathname === "/v1/services")
		sendJson(response, 200, { services: SERVICES.flatMap(([name, hosts]) =>
			["on-cpu", "off-cpu"].map((event) => ({ name, event, hosts, processes: hosts * 2, last_time: now_s() }))) });
	else if (url.pathname === "/v1/hosts")
		sendJson(response, 200, { hosts: [{ name: "web-1", cpus: 8, kernel_release: "6.1.0-18-amd64", architecture: "x86_64",
			agent_version: "0.1.0", last_time: now_s() - 4, agent_id: "a0", labels: {} }, { name: "web-2", agent_id: "a1", cpus: 8,
			kernel_release: "5.10.0-32-amd64", architecture: "x86_64", agent_version: "0.1.0", last_time: now_s() - 90,
			labels: { "agent.reduced": "unwind chunks 1/2, on-CPU 49.5 of 99 Hz", "kernel.lacks": "bpf-loop" } }] });
	else if (url.pathname === "/v1/fleet")
		sendJson(response, 200, { hosts: HOSTS.map(fleetHost), covered_s: 120, since: now_s() - 900, until: now_s() });
	else if (url.pathname === "/v1/groups")
		answerGroups(url.searchParams, response);
	else if (url.pathname === "/v1/unresolved")
		await sendUnresolved(response, fixture);
	else if (url.pathname === "/v1/export")
		response.writeHead(200, { "Content-Type": "text/plain",
			"Content-Disposition": `attachment; filename="hearth-${url.searchParams.get("service")}.${url.searchParams.get("format")}"` })
			.end("a;b 1\n");
	else if (url.pathname === "/v1/source")
		sendJson(response, 200, { ...LINES, function: url.searchParams.get("function") });
	else if (url.pathname === "/v1/disassembly")
		sendJson(response, 200, { ...CODE, function: url.searchParams.get("function") });
	else if (url.pathname === `/buildid/${FILES[0].build_id}/source/src/search%20api.c`)
		response.writeHead(200, { "Content-Type": "text/plain" }).end(Array.from({ length: 60 }, (_, i) => `\tline(${i + 1});\n`).join(""));
	else if (url.pathname === "/v1/flame")
		answerProfile(url.searchParams, response, fixture);
	else
		await sendFile(response, url.pathname === "/" ? "index.html" : url.pathname);
}

function fleetHost(name, at) {
	return { name, agent_id: `a${at}`, agent_version: "0.1.0", cpus: 8, last_time: now_s() - (at ? 120 : 4), covered_s: 120, counted_s: 120,
		ticks_expected: 95040, ticks_lost: 3, ticks_missed: 20, samples: 30000, stacks_cut: 12, stacks_lost: 0, waits_lost: 0,
		batches_lost: 0, agent_cpu: 2400000 };
}

/* Sums each service on each host, as in the profile of Total. The answer is the same for every range. */
function answerGroups(parameters, response) {
	const groupBy = parameters.get("group_by");
	const { functions, node_values } = makeProfile({ service: "Total", event: "on-cpu", nodes: 0, folded: true, groupBy: "host" });
	const prefix = groupBy === "host" ? "[g] host=" : "[p] ";
	const values = new Map();
	const isNothing = parameters.get("filter")?.includes("nowhere");

	for (const [fn, , , total] of isNothing ? [] : node_values.values) {
		if (functions[fn].startsWith(prefix)) {
			const name = functions[fn].slice(prefix.length);
			values.set(name, (values.get(name) ?? 0) + total);
		}
	}
	const groups = [...values].sort((a, b) => b[1] - a[1]).map(([name, value]) => ({ name, hosts: 2, processes: 2, threads: 2, value,
		last_time: now_s() }));
	sendJson(response, 200, { groups: groups.slice(0, Number(parameters.get("limit") ?? 50)), count: groups.length,
		total: groups.reduce((sum, { value }) => sum + value, 0), event: "on-cpu", unit: "microseconds", message: isNothing
			? "service 'Total' has no samples that the filter selects" : "" });
}

/* With @unresolved = false, answers like an older server without this path. */
async function sendUnresolved(response, { unresolved }) {
	const total = 1e9;

	const usual = { event: "on-cpu", unit: "microseconds", since: 0, until: 0, message: "", total, unresolved: total * 0.2,
		files: FILES.map((file) => ({ ...file, value: file.share * total * 0.2, share: file.share * 0.2 })) };

	if (!unresolved) {
		response.writeHead(404).end();
		return;
	}
	const { status, body } = unresolved === true ? { status: 200, body: usual } : await unresolved(usual);
	sendJson(response, status, body);
}

function answerProfile(parameters, response, fixture) {
	const asked = { filter: "", fold_threads: "false", group_by: "", ...Object.fromEntries(parameters) };

	if (asked.filter.endsWith("="))
		sendJson(response, 400, { error: `tag_filter: expected a value at character ${asked.filter.length + 1}` });
	else if (asked.filter.includes("nowhere"))
		sendJson(response, 200, { result: null, message: `service '${asked.service}' has no samples that the filter selects` });
	else if (Number(asked.until) < now_s() - 86400)
		sendJson(response, 200, { result: null,
			message: `service '${asked.service}' has no on-cpu samples then; last sample at ${new Date().toISOString().slice(0, 19)}Z` });
	else if (fixture.pending-- > 0)
		sendPending(response, asked, fixture);
	else
		sendProfile(response, asked, fixture);
}

function profileOf(asked, nodes) {
	return makeProfile({ service: asked.service, event: asked.event, nodes, folded: asked.fold_threads === "true", groupBy: asked.group_by });
}

/* Sends the answer of a server with pending symbol tables: some functions are only labelled with their file. */
function sendPending(response, asked, { nodes }) {
	const result = profileOf(asked, nodes);
	const isNameless = (fn) => fn % 4 === 3 && result.function_types[fn] !== "T";
	const whole = result.node_values.values[0][3];
	const nameless = result.node_values.values.reduce((sum, [fn, , self]) => sum + (isNameless(fn) ? self : 0), 0);

	result.functions = result.functions.map((name, fn) => isNameless(fn) ? "[/usr/bin/search-api]" : name);
	result.function_types = [...result.function_types].map((type, fn) => isNameless(fn) ? "?" : type);
	response.writeHead(200, { "Content-Type": "application/json", "X-Hearth-Tables-Pending": 2, "X-Hearth-Value": whole,
		"X-Hearth-Unsymbolized": nameless, "X-Hearth-Unsymbolized-Pending": Math.round(nameless * 0.75),
		"X-Hearth-Unsymbolized-No-Debuginfo": nameless - Math.round(nameless * 0.75) });
	response.end(JSON.stringify({ result, message: "" }));
}

function sendProfile(response, asked, { nodes, cache, named }) {
	const isEarlier = Number(asked.until) < now_s() - 800;
	const key = `${asked.service} ${asked.event} ${asked.fold_threads} ${asked.group_by} ${isEarlier}`;

	if (!cache.has(key)) {
		const result = isEarlier ? earlier(profileOf(asked, nodes)) : profileOf(asked, nodes);
		cache.set(key, gzipSync(JSON.stringify({ result, message: "" }), { level: 1 }));
	}
	response.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip", "X-Hearth-Covered-S": 120,
		...(named ? { "X-Hearth-Unsymbolized": 0 } : {}) }).end(cache.get(key));
}

/* Earlier some functions had other names, and others took more or less time. */
function earlier(result) {
	const rows = result.node_values.values;
	const factor = (fn) => fn % 5 === 1 ? 2 : fn % 5 === 3 ? 0.6 : 1;

	for (const row of rows) {
		row[2] = Math.round(row[2] * factor(row[0]));
		row[3] = row[2];
	}
	for (const [, parent, , total] of rows.slice(1).reverse())
		rows[parent][3] += total;
	result.functions = result.functions.map((name, fn) => fn % 11 === 4 && result.function_types[fn] === "A" ? `${name}_v1` : name);
	return result;
}

function now_s() {
	return Math.floor(Date.now() / 1000);
}

function sendJson(response, status, body) {
	response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
}

async function sendFile(response, path) {
	const file = join(FOLDER, normalize(`/${path}`));
	const content = await readFile(file).catch(() => null);

	if (content === null)
		response.writeHead(404).end();
	else
		response.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "text/plain" }).end(content);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const [port = "8420", nodes = "4000", token = "", pending = "0"] = process.argv.slice(2);
	const { url } = await startFixture({ port: Number(port), nodes: Number(nodes), token, pending: Number(pending) });
	console.log(url);
}
