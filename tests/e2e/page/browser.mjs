/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Drives Chromium with the DevTools protocol over a pipe, without libraries. Input is sent as mouse and key events of a
 * user, not as calls of the page's functions.
 */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"];
const START_LIMIT_MS = 60000;

export async function startBrowser(program) {
	const folder = mkdtempSync(join(tmpdir(), "hearth-page-"));
	const child = spawn(program, [...FLAGS, `--user-data-dir=${folder}`, "about:blank"],
		{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
	const connection = new Connection(child.stdio[3], child.stdio[4]);

	child.on("error", (error) => connection.fail(error));
	child.on("exit", (code) => connection.fail(new Error(`the browser ended with ${code}`)));
	await within(START_LIMIT_MS, connection.send("Browser.getVersion"), "start of the browser");
	return {
		newPage: (options) => newPage(connection, options),
		async close() {
			const ended = new Promise((resolve) => child.on("exit", resolve));
			connection.closing = true;
			connection.send("Browser.close").catch(() => {});
			await within(10000, ended, "end of the browser").catch(() => child.kill("SIGKILL"));
			rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
		},
	};
}

/* Messages are JSON, terminated by NUL. */
class Connection {
	constructor(input, output) {
		this.input = input;
		this.nextId = 1;
		this.waiting = new Map();
		this.listeners = new Map(); /* by session */
		let rest = [];

		input.on("error", (error) => this.fail(error));
		output.on("data", (chunk) => {
			for (let at; (at = chunk.indexOf(0)) >= 0; chunk = chunk.subarray(at + 1)) {
				rest.push(chunk.subarray(0, at));
				this.receive(JSON.parse(Buffer.concat(rest).toString()));
				rest = [];
			}
			rest.push(chunk);
		});
	}

	send(method, params = {}, sessionId = undefined) {
		const id = this.nextId++;

		this.input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
		return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
	}

	receive(message) {
		const waiting = this.waiting.get(message.id);

		if (!waiting) {
			this.listeners.get(message.sessionId)?.(message);
			return;
		}
		this.waiting.delete(message.id);
		if (message.error)
			waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
		else
			waiting.resolve(message.result);
	}

	fail(error) {
		for (const { reject } of this.waiting.values())
			reject(error);
		this.waiting.clear();
	}
}

export function within(limit_ms, promise, what) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error(`no ${what} within ${limit_ms} ms`)), limit_ms);
	});
	return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function newPage(connection, { width = 1440, height = 900, scale = 1, dark = false } = {}) {
	const { targetId } = await connection.send("Target.createTarget", { url: "about:blank" });
	const { sessionId } = await connection.send("Target.attachToTarget", { targetId, flatten: true });
	const send = (method, params) => connection.send(method, params, sessionId);
	const page = new Page(send);

	connection.listeners.set(sessionId, (message) => page.event(message));
	await Promise.all(["Page", "Runtime", "Log", "Network"].map((domain) => send(`${domain}.enable`)));
	await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
	await send("Emulation.setEmulatedMedia", { features: [
		{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
		{ name: "prefers-reduced-motion", value: "reduce" } ] });
	page.close = () => connection.send("Target.closeTarget", { targetId });
	return page;
}

const KEYS = { Enter: 13, Escape: 27, Backspace: 8, Tab: 9, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40,
	Home: 36, End: 35 };

class Page {
	constructor(send) {
		this.send = send;
		this.complaints = []; /* errors of the console, exceptions, violations of the content security policy */
		this.requests = [];   /* {id, url, body} of each */
		this.finished = new Set();
	}

	event({ method, params }) {
		if (method === "Runtime.exceptionThrown")
			this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
		else if (method === "Runtime.consoleAPICalled" && params.type === "error")
			this.complaints.push(params.args.map((arg) => arg.value ?? arg.description).join(" "));
		else if (method === "Log.entryAdded" && params.entry.level === "error")
			this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
		else if (method === "Network.requestWillBeSent")
			this.requests.push({ id: params.requestId, url: params.request.url, body: params.request.postData });
		else if (method === "Network.loadingFinished")
			this.finished.add(params.requestId);
		else if (method === "Fetch.requestPaused")
			this.answerPaused(params);
	}

	/* From now on @answer(request) returns {status, body} for requests of this path, or null to pass them to the server. */
	async intercept(path, answer) {
		this.answerFor = answer;
		await this.send("Fetch.enable", { patterns: [{ urlPattern: `*${path}*` }] });
	}

	answerPaused({ requestId, request }) {
		const answer = this.answerFor(request);
		const sent = answer
			? this.send("Fetch.fulfillRequest", { requestId, responseCode: answer.status, body: Buffer.from(answer.body).toString("base64") })
			: this.send("Fetch.continueRequest", { requestId });

		sent.catch(() => {}); /* the page may be closed already */
	}

	/*
	 * Returns parameters and body of the last completed request to a path that the page made, of those with parameters
	 * that @fits accepts. Waits for the first one: the page can show an answer before the browser reports that it is complete.
	 */
	async lastAnswer(path, fits = () => true, limit_ms = 30000) {
		const deadline = Date.now() + limit_ms;
		const find = () => this.requests.filter(({ id, url }) => this.finished.has(id) && new URL(url).pathname === path &&
			fits(new URL(url).searchParams)).at(-1);
		let request;
		while (!(request = find())) {
			if (Date.now() > deadline)
				throw new Error(`no answer to ${path} within ${limit_ms} ms`);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		const { body, base64Encoded } = await this.send("Network.getResponseBody", { requestId: request.id });

		return { parameters: Object.fromEntries(new URL(request.url).searchParams),
			answer: JSON.parse(base64Encoded ? Buffer.from(body, "base64").toString() : body) };
	}

	async open(url) {
		const { errorText } = await this.send("Page.navigate", { url });
		if (errorText)
			throw new Error(`cannot open ${url}: ${errorText}`);
	}

	/* Returns the value of an expression in the page; awaits promises. */
	async evaluate(expression) {
		const { result, exceptionDetails } = await this.send("Runtime.evaluate",
			{ expression, returnByValue: true, awaitPromise: true });
		if (exceptionDetails)
			throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
		return result.value;
	}

	/* Waits until an expression in the page is true, and returns its value. */
	async until(expression, limit_ms = 30000) {
		const deadline = Date.now() + limit_ms;
		for (;;) {
			const value = await this.evaluate(expression).catch(() => false);
			if (value)
				return value;
			if (Date.now() > deadline)
				throw new Error(`not true within ${limit_ms} ms: ${expression}`);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
	}

	text(id) {
		return this.evaluate(`document.getElementById(${JSON.stringify(id)}).textContent`);
	}

	box(selector) {
		return this.evaluate(`(() => { const e = document.querySelector(${JSON.stringify(selector)});
			const b = e.getBoundingClientRect(); return { x: b.x, y: b.y, width: b.width, height: b.height }; })()`);
	}

	async moveTo(x, y) {
		await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
	}

	async click(x, y) {
		await this.moveTo(x, y);
		for (const type of ["mousePressed", "mouseReleased"])
			await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
	}

	async clickOn(selector) {
		const { x, y, width, height } = await this.box(selector);
		if (!(width > 0 && height > 0))
			throw new Error(`${selector} is not visible`);
		await this.click(x + width / 2, y + height / 2);
	}

	async press(key) {
		const code = KEYS[key] ?? key.toUpperCase().charCodeAt(0);
		const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
		await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text, windowsVirtualKeyCode: code });
		await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code });
	}

	/* Replaces the text of the focused field. */
	async type(text) {
		await this.evaluate("document.activeElement.select()");
		await this.send("Input.insertText", { text });
	}

	async screenshot() {
		const { data } = await this.send("Page.captureScreenshot", { format: "png" });
		return Buffer.from(data, "base64");
	}
}
