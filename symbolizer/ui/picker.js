/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The service picker: a button that opens a list with a search field (the combobox pattern of ARIA). A fleet has
 * thousands of services, so only the first of those that fit the text are listed.
 */

const MOST_LISTED = 200;

export class Picker {
	/* @parts: {button, label, popup, search, list}; @pick(name) is called with the choice. */
	constructor(parts, pick) {
		this.parts = parts;
		this.pick = pick;
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

	/* @items: [{name, note}] */
	setItems(items) {
		this.items = items;
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
	}

	close() {
		this.parts.popup.hidden = true;
		this.parts.button.setAttribute("aria-expanded", "false");
	}

	update() {
		const text = this.parts.search.value.toLowerCase();
		const fitting = this.items.filter((item) => item.name.toLowerCase().includes(text));

		this.listed = fitting.slice(0, MOST_LISTED);
		this.parts.list.replaceChildren(...this.listed.map((item, index) => this.option(item, index)));
		if (fitting.length !== this.listed.length)
			this.parts.list.append(remark(`${fitting.length - MOST_LISTED} more: type to narrow down`));
		if (fitting.length === 0)
			this.parts.list.append(remark(text ? "No service has this in its name" : "No service in this time range"));
		this.activate(Math.max(0, this.listed.findIndex((item) => item.name === this.choice)));
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

function remark(text) {
	const item = document.createElement("li");

	item.className = "remark";
	item.textContent = text;
	return item;
}
