/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Names that are missing: why, in words, and when to ask again for those that are on their way.
 */

import { element } from "./element.js";
import { formatShare } from "./format.js";

const FIRST_MS = 1000;
const GROWTH = 1.5;
const LONGEST_MS = 15000;
const MOST_TRIES = 30; /* some six minutes: the largest symbol tables take one */

/* How long to wait before each further question, longer and longer, and not for ever. */
export class Patience {
	constructor() {
		this.begin();
	}

	begin() {
		this.tries = 0;
	}

	end() {
		this.tries = MOST_TRIES;
	}

	get isOver() {
		return this.tries >= MOST_TRIES;
	}

	/* Milliseconds, or null when it is over. */
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

/* [[words, value], ...], the largest first. */
export function reasonsOf(stats) {
	return Object.entries(REASONS).map(([key, words]) => [words, stats[`unsymbolized-${key}`] ?? 0])
		.filter(([, value]) => value > 0).sort(([, a], [, b]) => b - a);
}

/* What is worth a line: less than half a percent without names is in the figures. */
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
 * @names: {unsymbolized, whole, stats, areListed: the files without names stand below, with the reasons}; @lookAgain is
 * offered when @patience is over.
 */
export function showNames(line, { unsymbolized, whole, stats, areListed }, patience, lookAgain) {
	const pending = stats["tables-pending"] ?? 0;
	const missing = areListed ? "" : missingSentence(unsymbolized, stats, whole);
	const children = [missing];

	if (pending > 0)
		children.push(pendingSentence(pending, patience.isOver));
	if (pending > 0 && patience.isOver) {
		const button = element("button", "", "Look again");
		button.type = "button";
		button.addEventListener("click", () => lookAgain());
		children.push(" ", button);
	}
	line.replaceChildren(...children);
	line.classList.toggle("waiting", pending > 0 && !patience.isOver);
	line.hidden = !missing && pending === 0;
}
