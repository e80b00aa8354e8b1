/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Opens the files of GET /v1/export?format=svg and format=html as a user does who got them by mail: from a folder, without
 * the server. Needs HEARTH_URL and HEARTH_SERVICE (tests/e2e/13-*.sh).
 */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { startBrowser } from "./browser.mjs";

const url = process.env.HEARTH_URL;
const service = process.env.HEARTH_SERVICE;
const options = { skip: url ? false : "needs a server (HEARTH_URL)" };
let folder, browser;

before(async () => {
	folder = mkdtempSync(join(tmpdir(), "hearth-export-"));
	if (url)
		browser = await startBrowser(process.env.CHROMIUM ?? "chromium");
});

after(async () => {
	await browser?.close();
	rmSync(folder, { recursive: true, force: true });
});

async function exportTo(name, format) {
	const response = await fetch(`${url}/v1/export?${new URLSearchParams({ service, last: "1h", format })}`);
	const path = join(folder, name);

	assert.equal(response.status, 200);
	assert.match(response.headers.get("Content-Disposition"), /^attachment; filename="hearth-.*"$/);
	writeFileSync(path, await response.text());
	return `file://${path}`;
}

async function keepScreenshot(page, name) {
	if (process.env.HEARTH_WORK)
		writeFileSync(join(process.env.HEARTH_WORK, name), await page.screenshot());
}

/* The file itself is the only thing that the browser loads. */
function assertQuiet(page, file) {
	assert.deepEqual(page.complaints, []);
	assert.deepEqual(page.requests.map((request) => request.url.split(/[?#]/)[0]), [file]);
}

test("an exported HTML file shows the graph without the server, and zooms and searches", options, async () => {
	const page = await browser.newPage();
	const file = await exportTo("profile.html", "html");

	await page.open(file);
	await page.until("document.querySelector('#stats dd')");
	assert.match(await page.evaluate("document.querySelector('.selection').textContent"), new RegExp(`^${service} · on-cpu · `));
	assert.match(await page.evaluate("document.querySelector('#functions tbody').textContent"), /work_a/);
	for (const control of ["#service", "#events", "#filter", "#live", "#custom"])
		assert.equal((await page.box(control)).width, 0, `${control} is hidden`);
	await keepScreenshot(page, "export-html.png");

	await page.clickOn("#search");
	await page.type("work_a");
	await page.until("/matched/.test(document.getElementById('match').textContent)");
	await page.press("Enter");
	await page.evaluate("document.getElementById('scroller').focus()");
	await page.press("Enter");
	await page.until("!document.getElementById('crumbs').hidden");
	await page.clickOn("#reset");
	await page.until("document.getElementById('crumbs').hidden");
	assertQuiet(page, file);
	await page.close();
});

test("an exported SVG file shows the graph, zooms and searches", options, async () => {
	const page = await browser.newPage();
	const file = await exportTo("profile.svg", "svg");
	const shown = "[...document.querySelectorAll('g.f')].filter((group) => group.style.display !== 'none')";
	const widthOf = (name) => page.evaluate(`Math.max(...${shown}.filter((group) =>
		group.querySelector('title').textContent.startsWith('${name}\\n')).map((group) => group.querySelector('rect').getBoundingClientRect().width))`);

	await page.open(file);
	await page.until("document.documentElement.classList.contains('scripted')");
	const before = await widthOf("work_a");
	await keepScreenshot(page, "export-svg.png");

	/* The title of the page covers no frame; the frame of work_a is clicked in its middle. */
	const { x, y, width, height } = await page.evaluate(`(() => { const box = ${shown}.find((group) =>
		group.querySelector('title').textContent.startsWith('work_a\\n')).querySelector('rect').getBoundingClientRect();
		return { x: box.x, y: box.y, width: box.width, height: box.height }; })()`);
	await page.click(x + width / 2, y + height / 2);
	assert.ok(await widthOf("work_a") > 1199, "work_a fills the width");
	assert.ok(before < 1199);
	assert.match(await page.text("details"), /^work_a: .* s, /);
	await page.clickOn("#reset");
	assert.equal(await widthOf("work_a"), before);

	await page.evaluate("window.prompt = () => '^work_[ab]$'");
	await page.clickOn("#search");
	assert.match(await page.text("matched"), /^Matched: (8|9)\d\.\d %$/);
	assert.ok(await page.evaluate("document.querySelectorAll('g.match').length") >= 2);
	assertQuiet(page, file);
	await page.close();
});
