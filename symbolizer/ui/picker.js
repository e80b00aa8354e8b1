/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The service picker: a button that opens a list with a search field (ARIA's combobox pattern). A fleet has thousands of
 * services; the list shows the first ones that contain the text.
 */

import { fittingItems } from "./ranking.js";

const MOST_LISTED = 200;

export class Picker {
	/* @parts: {button, label, popup, search, list, remark}. Calls @opened() when the list opens, @pick(name) with the choice. */
	constructor(parts, pick, opened) {
		this.parts = parts;
		this.pick = pick;
		this.opened = opened;
		this.n_folded = 0;
		this.items = [];
		this.listed = [];
		this.active = 0;

		parts.button.addEventListener("click", () => (parts.popup.hidden ? this.open() : this.close()));
		parts.search.addEventListener("input", () => this.update());
		parts.search.addEventListener("keydown", (event) => this.keyPressed(event));
		parts.list.addEventListener("click", (event) => {
			const option = event.target.closest("[role=option]");
			if (option)
				this.choose(this.listed[Number(option.dataset.index)]);
		});
		document.addEventListener("mousedown", (event) => {
			if (!parts.popup.hidden && !parts.popup.parentElement.contains(event.target))
				this.close();
		});
	}

	/* @items: [{name, note}] in the order of the list. The last @n_folded are listed only if they contain the text. */
	setItems(items, n_folded = 0) {
		this.items = items;
		this.n_folded = n_folded;
		if (!this.parts.popup.hidden)
			this.update();
	}

	setChoice(name) {
		this.choice = name;
		this.parts.label.textContent = name || "choose…";
	}

	open() {
		this.parts.popup.hidden = false;
		this.parts.button.setAttribute("aria-expanded", "true");
		this.parts.search.value = "";
		this.update();
		this.parts.search.focus();
		this.opened();
	}

	close() {
		this.parts.popup.hidden = true;
		this.parts.button.setAttribute("aria-expanded", "false");
	}

	update() {
		const text = this.parts.search.value.trim();
		const unfolded = text ? this.items : this.items.slice(0, this.items.length - this.n_folded);
		const fitting = fittingItems(unfolded, text);

		this.listed = fitting.slice(0, MOST_LISTED);
		this.parts.list.replaceChildren(...this.listed.map((item, index) => this.option(item, index)));
		this.parts.list.hidden = this.listed.length === 0;
		this.parts.remark.textContent = this.remark(text, fitting.length);
		this.activate(text ? 0 : Math.max(0, this.listed.findIndex((item) => item.name === this.choice)));
	}

	/* Returns the text below the list. */
	remark(text, n_fitting) {
		if (n_fitting === 0)
			return text ? "No service name contains this text" : "No service in this time range";
		if (n_fitting > MOST_LISTED)
			return `${n_fitting - MOST_LISTED} more: type to narrow down`;
		return !text && this.n_folded > 0 ? `${this.n_folded} more with less than 0.05 % of the CPU time each: type their name` : "";
	}

	option(item, index) {
		const option = document.createElement("li");
		const name = document.createElement("span");
		const note = document.createElement("span");

		option.id = `service-${index}`;
		option.dataset.index = index;
		option.setAttribute("role", "option");
		option.setAttribute("aria-selected", String(item.name === this.choice));
		name.textContent = item.name;
		note.textContent = item.note;
		note.className = "note";
		option.append(name, note);
		return option;
	}

	activate(index) {
		const { list, search } = this.parts;

		list.children[this.active]?.classList.remove("active");
		this.active = index;
		if (index < this.listed.length) {
			list.children[index].classList.add("active");
			list.children[index].scrollIntoView({ block: "nearest" });
			search.setAttribute("aria-activedescendant", `service-${index}`);
		} else {
			search.removeAttribute("aria-activedescendant");
		}
	}

	keyPressed(event) {
		const count = this.listed.length;

		event.stopPropagation();
		if (event.key === "ArrowDown" && count)
			this.activate((this.active + 1) % count);
		else if (event.key === "ArrowUp" && count)
			this.activate((this.active + count - 1) % count);
		else if (event.key === "Enter" && count)
			this.choose(this.listed[this.active]);
		else if (event.key === "Escape")
			this.leave();
		else
			return;
		event.preventDefault();
	}

	leave() {
		this.close();
		this.parts.button.focus();
	}

	choose(item) {
		this.leave();
		this.pick(item.name);
	}
}
