/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Checks the views of the page with axe-core, in both themes and on a phone. Debian has no package of axe-core: HEARTH_AXE
 * is the path of its axe.min.js ("npm install axe-core"). Without it the test is skipped.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { startBrowser } from "./browser.mjs";
import { startFixture } from "./fixture_server.mjs";

const SERVICE = "/?service=search-api";
const VIEWS = [
	{ name: "fleet", path: "/" },
	{ name: "graph", path: SERVICE },
	{ name: "picker", path: SERVICE, act: (page) => page.clickOn("#service-button") },
	{ name: "picker without a match", path: SERVICE, act: async (page) => {
		await page.clickOn("#service-button");
		await page.type("no such service");
	} },
	{ name: "unresolved files", path: SERVICE, act: async (page) => {
		await page.until("!document.getElementById('unresolved').hidden");
		await page.clickOn("#unresolved-title");
	} },
	{ name: "zoom", path: `${SERVICE}&live=1`, act: async (page) => {
		for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"])
			await page.press(key);
	} },
	{ name: "custom range without data", path: `${SERVICE}&since=1700000000&until=1700000900` },
	{ name: "nothing selected", path: `${SERVICE}&filter=host%3D'nowhere'` },
];
const SERIOUS = new Set(["serious", "critical"]);

test("axe reports no serious violations", { skip: process.env.HEARTH_AXE ? false : "HEARTH_AXE is not set" }, async () => {
	const axe = readFileSync(process.env.HEARTH_AXE, "utf8");
	const fixture = await startFixture();
	const browser = await startBrowser(process.env.CHROMIUM ?? "chromium");

	try {
		for (const size of [{ width: 1400, height: 900 }, { width: 390, height: 844 }]) {
			for (const dark of [false, true]) {
				for (const view of VIEWS)
					await check(await browser.newPage({ ...size, dark }), `${fixture.url}${view.path}`, view, axe);
			}
		}
	} finally {
		await browser.close();
		fixture.close();
	}
});

async function check(page, url, { name, act }, axe) {
	await page.open(url);
	await page.until("document.getElementById('progress').hidden && (document.querySelector('#stats dd, .figures') || !document.getElementById('notice').hidden)");
	await act?.(page);
	await page.evaluate(`${axe}; true`);
	const violations = await page.evaluate(`axe.run(document).then(({ violations }) => violations.map(({ id, impact, nodes }) =>
		({ id, impact, targets: nodes.map(({ target }) => target.join(" ")) })))`);
	assert.deepEqual(violations.filter(({ impact }) => SERIOUS.has(impact)), [], name);
	await page.close();
}
