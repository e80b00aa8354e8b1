/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The table "Top functions", sorted by self or total. For whole hosts it lists processes. Tab reaches one row of the
 * table; arrow keys move between rows, and Enter or Space selects the row.
 */

import { colourOf, isOfHosts } from "./columns.js";
import { elided, element } from "./element.js";
import { formatShare, formatValue, shortName } from "./format.js";

const PAGE_ROWS = 100;

export class FunctionTable {
	/* @events: {sort(by), pick(label)} */
	constructor(table, moreButton, sortButtons, events) {
		this.body = table.tBodies[0];
		this.moreButton = moreButton;
		this.sortButtons = sortButtons;
		this.events = events;
		this.order = [];
		this.shown = 0;

		for (const [by, button] of Object.entries(sortButtons))
			button.addEventListener("click", () => events.sort(by));
		moreButton.addEventListener("click", () => this.showMore());
		this.body.addEventListener("click", (event) => this.pick(event.target.closest("tr")));
		this.body.addEventListener("keydown", (event) => this.keyPressed(event));
	}

	/* @view: {tree, values: {self, total}, whole, event, by, matches} */
	show(view) {
		const { tree, values, by, matches } = view;
		const other = by === "self" ? "total" : "self";
		const isListed = isOfHosts(tree) ? (type) => type === "P" : (type) => !"PTH".includes(type);

		this.view = view;
		this.order = [];
		for (let i = 0; i < tree.names.length; i++) {
			if (values.total[i] > 0 && (!matches || matches[i]) && isListed(tree.types[i]))
				this.order.push(i);
		}
		this.order.sort((a, b) => values[by][b] - values[by][a] || values[other][b] - values[other][a]);
		for (const [name, button] of Object.entries(this.sortButtons)) {
			if (name === by)
				button.parentElement.setAttribute("aria-sort", "descending");
			else
				button.parentElement.removeAttribute("aria-sort");
		}
		this.body.replaceChildren();
		this.shown = 0;
		this.showMore();
	}

	clear() {
		this.order = [];
		this.body.replaceChildren();
		this.moreButton.hidden = true;
	}

	showMore() {
		const next = this.order.slice(this.shown, this.shown + PAGE_ROWS);

		this.body.append(...next.map((fn) => this.row(fn)));
		this.shown += next.length;
		this.moreButton.hidden = this.shown >= this.order.length;
		if (this.body.firstElementChild && !this.body.querySelector("tr[tabindex='0']"))
			this.body.firstElementChild.tabIndex = 0;
	}

	row(fn) {
		const { tree, values } = this.view;
		const row = document.createElement("tr");
		const name = document.createElement("td");

		row.tabIndex = -1;
		row.dataset.fn = fn;
		name.className = `name kind-${kindClass(colourOf(tree, fn))}`;
		name.title = tree.names[fn];
		name.append(elided(shortName(tree.names[fn], tree.types[fn])));
		row.append(name, this.cell(values.self[fn]), this.cell(values.total[fn]));
		return row;
	}

	cell(value) {
		const cell = document.createElement("td");
		const share = document.createElement("span");

		cell.append(element("span", "amount", value > 0 ? formatValue(this.view.event, value) : "–"));
		share.className = "share";
		share.textContent = value > 0 ? formatShare(value, this.view.whole) : "";
		cell.append(share);
		cell.style.setProperty("--part", Math.min(1, value / (this.view.whole || 1)));
		return cell;
	}

	pick(row) {
		if (row)
			this.events.pick(this.view.tree.names[Number(row.dataset.fn)]);
	}

	keyPressed(event) {
		const row = event.target.closest("tr");
		const rows = this.body.children;
		const targets = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling, Home: rows[0],
			End: rows[rows.length - 1] };

		if (event.key === "Enter" || event.key === " ")
			this.pick(row);
		else if (event.key in targets)
			moveFocus(row, targets[event.key]);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}
}

function moveFocus(from, to) {
	if (!to)
		return;
	from.tabIndex = -1;
	to.tabIndex = 0;
	to.focus();
}

/* Returns the type's part of CSS class names, which cannot contain '?'. */
export function kindClass(type) {
	return type === "?" ? "unknown" : type;
}
