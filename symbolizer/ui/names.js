/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Missing names: the line that gives the reasons, and the delays before new requests while symbol tables are being made.
 */

import { element } from "./element.js";
import { formatShare } from "./format.js";

const FIRST_MS = 1000;
const GROWTH = 1.5;
const LONGEST_MS = 15000;
const MOST_TRIES = 30; /* about six minutes; the largest symbol tables take one minute */

/* Delays between requests, which grow up to a limit and end after MOST_TRIES. */
export class Backoff {
	constructor() {
		this.reset();
	}

	reset() {
		this.tries = 0;
	}

	stop() {
		this.tries = MOST_TRIES;
	}

	get isOver() {
		return this.tries >= MOST_TRIES;
	}

	/* Returns the next delay in milliseconds; null if it is over. */
	next() {
		return this.isOver ? null : Math.min(FIRST_MS * GROWTH ** this.tries++, LONGEST_MS);
	}
}

const REASONS = {
	"no-debuginfo": "no debuginfo on the server",
	stripped: "only a stripped file on the server",
	outside: "no function at the address",
	pending: "symbols are being read",
	"table-failed": "debuginfo that could not be read",
	"no-mapping": "no file behind the address",
};

/* Returns the reasons with their values, the largest first: [[words, value], ...]. */
export function reasonsOf(stats) {
	return Object.entries(REASONS).map(([key, words]) => [words, stats[`unsymbolized-${key}`] ?? 0])
		.filter(([, value]) => value > 0).sort(([, a], [, b]) => b - a);
}

/* Returns "" below half a percent, which only the figures show. */
function missingSentence(unsymbolized, stats, whole) {
	const reasons = reasonsOf(stats);

	if (!(unsymbolized > whole / 200) || reasons.length === 0)
		return "";
	return `${formatShare(unsymbolized, whole)} is unresolved: ` +
		`${reasons.map(([words, value]) => `${words} (${formatShare(value, whole)})`).join(", ")}. `;
}

function pendingSentence(pending, isOver) {
	const files = pending === 1 ? "one executable" : `${pending} executables`;

	return isOver ? `The names of ${files} are still being read.`
		: `The names of ${files} are being read and will be here in a moment.`;
}

/*
 * @names: {unsymbolized, whole, stats, areListed: the list of files below has the reasons}. When @backoff is over, a button
 * calls @reload.
 */
export function showNames(line, { unsymbolized, whole, stats, areListed }, backoff, reload) {
	const pending = stats["tables-pending"] ?? 0;
	const missing = areListed ? "" : missingSentence(unsymbolized, stats, whole);
	const children = [missing];

	if (pending > 0)
		children.push(pendingSentence(pending, backoff.isOver));
	if (pending > 0 && backoff.isOver) {
		const button = element("button", "", "Look again");
		button.type = "button";
		button.addEventListener("click", () => reload());
		children.push(" ", button);
	}
	line.replaceChildren(...children);
	line.classList.toggle("waiting", pending > 0 && !backoff.isOver);
	line.hidden = !missing && pending === 0;
}

/*
 * Shows what an answer lacks, such as samples that were lost. @description: the server's parts, joined by "; ". showNames()
 * shows symbol tables that are being made.
 */
export function showLosses(line, description) {
	const text = description.split("; ").filter((part) => part && !part.startsWith("the symbol tables of")).join("; ");

	line.textContent = text && `${text[0].toUpperCase()}${text.slice(1)}.`;
	line.hidden = !text;
}
