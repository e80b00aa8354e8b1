/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Serves the page from the source folder with a made-up profile, to work on the page without a server:
 *
 *   node tests/e2e/page/fixture_server.mjs [PORT [NODES [TOKEN [PENDING]]]]
 *
 * The first PENDING answers say that symbol tables are being made, and have no names for a quarter of the functions.
 */

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { makeProfile } from "./fixture_profile.mjs";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "../../../symbolizer/ui");
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
const SERVICES = [["checkout", 12], ["nginx", 40], ["postgres", 3], ["search-api", 8]];

export async function startFixture({ port = 0, nodes = 4000, token = "", pending = 0 } = {}) {
	const fixture = { nodes, token, pending, cache: new Map() };
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
		sendJson(response, 401, { OPT_STATUS: "FAIL", DESCRIPTION: "a token is needed", result: null, debug: null });
	else if (url.pathname === "/v1/services")
		sendJson(response, 200, { services: SERVICES.flatMap(([name, hosts]) =>
			["on-cpu", "off-cpu"].map((event) => ({ name, event, hosts, processes: hosts * 2, last_time: now_s() }))) });
	else if (url.pathname === "/v1/hosts")
		sendJson(response, 200, { hosts: [{ name: "web-1", cpus: 8, kernel_release: "6.1.0-18-amd64", architecture: "x86_64",
			agent_version: "0.1.0", last_time: now_s() - 4, labels: {} }, { name: "web-2", cpus: 8,
			kernel_release: "5.10.0-32-amd64", architecture: "x86_64", agent_version: "0.1.0", last_time: now_s() - 90,
			labels: { "agent.reduced": "unwind chunks 1/2, on-CPU 49.5 of 99 Hz", "kernel.lacks": "bpf-loop" } }] });
	else if (url.pathname === "/v1/profile/ProfileTracing")
		await answerProfile(request, response, fixture);
	else
		await sendFile(response, url.pathname === "/" ? "index.html" : url.pathname);
}

async function answerProfile(request, response, fixture) {
	const parts = [];
	for await (const part of request)
		parts.push(part);
	const asked = { tag_filter: "", fold_threads: false, ...JSON.parse(Buffer.concat(parts).toString()) };

	if (asked.tag_filter.endsWith("="))
		sendJson(response, 400, { OPT_STATUS: "INVALID_POST_DATA", result: null, debug: null,
			DESCRIPTION: `tag_filter: expected a value at character ${asked.tag_filter.length + 1}` });
	else if (asked.tag_filter.includes("nowhere"))
		sendJson(response, 200, { OPT_STATUS: "SUCCESS", result: null, debug: null,
			DESCRIPTION: `service '${asked.app_service}' has no samples that the filter selects` });
	else if (fixture.pending-- > 0)
		sendPending(response, asked, fixture);
	else
		sendProfile(response, asked, fixture);
}

/* As while tables are made: some functions have but their file's name. */
function sendPending(response, asked, { nodes }) {
	const result = makeProfile({ service: asked.app_service, event: asked.profile_event_type, nodes, folded: asked.fold_threads });
	const isNameless = (fn) => fn % 4 === 3 && result.function_types[fn] !== "T";
	const whole = result.node_values.values[0][3];
	const nameless = result.node_values.values.reduce((sum, [fn, , self]) => sum + (isNameless(fn) ? self : 0), 0);

	result.functions = result.functions.map((name, fn) => isNameless(fn) ? "[/usr/bin/search-api]" : name);
	result.function_types = [...result.function_types].map((type, fn) => isNameless(fn) ? "?" : type);
	response.writeHead(200, { "Content-Type": "application/json", "X-Hearth-Tables-Pending": 2, "X-Hearth-Value": whole,
		"X-Hearth-Unsymbolized": nameless, "X-Hearth-Unsymbolized-Pending": Math.round(nameless * 0.75),
		"X-Hearth-Unsymbolized-No-Debuginfo": nameless - Math.round(nameless * 0.75) });
	response.end(JSON.stringify({ OPT_STATUS: "SUCCESS", DESCRIPTION: "", result, debug: null }));
}

function sendProfile(response, asked, { nodes, cache }) {
	const key = `${asked.app_service} ${asked.profile_event_type} ${asked.fold_threads}`;

	if (!cache.has(key)) {
		const result = makeProfile({ service: asked.app_service, event: asked.profile_event_type, nodes, folded: asked.fold_threads });
		cache.set(key, gzipSync(JSON.stringify({ OPT_STATUS: "SUCCESS", DESCRIPTION: "", result, debug: null }), { level: 1 }));
	}
	response.writeHead(200, { "Content-Type": "application/json", "Content-Encoding": "gzip" }).end(cache.get(key));
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
