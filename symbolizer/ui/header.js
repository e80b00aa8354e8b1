/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The controls in the head of the page. They show the state and report the reader's choices.
 */

import { rangeOf } from "./state.js";

const EVENT_ORDER = ["on-cpu", "off-cpu", "run-queue", "on-gpu", "mem-alloc", "mem-inuse", "hbm-alloc", "hbm-inuse", "rdma"];
const TIME_EVENTS = new Set(["on-cpu", "off-cpu", "run-queue", "on-gpu"]); /* the types of Total */

export const TOTAL = "Total";

const $ = (id) => document.getElementById(id);

/* @services: rows of GET /v1/services */
export function showControls(state, services) {
	const range = state.since ? "custom" : state.last;

	showEvents(state, services);
	for (const radio of document.querySelectorAll("input[name=range]"))
		radio.checked = radio.value === range;
	$("custom").hidden = !state.since;
	if (state.since) {
		$("since").value = localTime(state.since);
		$("until").value = localTime(state.until);
	}
	$("filter").value = state.filter;
	$("search").value = state.search;
	$("fold").checked = state.fold;
	$("live").checked = state.live;
	$("live").disabled = state.since > 0;
}

/* Shows the event types of the service, and always the selected one. */
function showEvents(state, services) {
	const fieldset = $("events");
	const shown = new Set(services.filter(({ name, event }) => state.service === TOTAL ? TIME_EVENTS.has(event) : name === state.service)
		.map(({ event }) => event));

	shown.add(state.event);
	const labels = EVENT_ORDER.filter((event) => shown.has(event)).map((event) => {
		const label = document.createElement("label");
		const radio = document.createElement("input");
		const text = document.createElement("span");
		Object.assign(radio, { type: "radio", name: "event", value: event, checked: event === state.event });
		text.textContent = event;
		label.append(radio, text);
		return label;
	});
	const key = labels.map((label) => label.textContent).join();
	if (fieldset.dataset.key !== key) {
		fieldset.replaceChildren(fieldset.firstElementChild, ...labels);
		fieldset.dataset.key = key;
	}
	for (const radio of fieldset.querySelectorAll("input"))
		radio.checked = radio.value === state.event;
}

/* Formats "2026-08-21T09:30:00" in local time, the format of datetime-local. */
function localTime(unix_s) {
	const date = new Date((unix_s - new Date(unix_s * 1000).getTimezoneOffset() * 60) * 1000);
	return date.toISOString().slice(0, 19);
}

/* Shows or hides the second row, which is hidden at first on small screens. */
function unfold(isOpen) {
	$("header").classList.toggle("open", isOpen);
	$("unfold").setAttribute("aria-expanded", String(isOpen));
}

/* Calls @select(changes) with changes of the state. @stateNow() returns the state; a custom range begins with its range. */
export function listenToControls(select, stateNow) {
	$("events").addEventListener("change", (event) => select({ event: event.target.value }));
	$("ranges").addEventListener("change", (event) => {
		if (event.target.value !== "custom") {
			select({ last: event.target.value, since: 0, until: 0 });
			return;
		}
		unfold(true);
		const { since, until } = rangeOf(stateNow(), Math.floor(Date.now() / 1000));
		select({ since, until });
	});
	$("custom").addEventListener("submit", (event) => {
		event.preventDefault();
		const [since, until] = [$("since"), $("until")].map((input) => Math.floor(new Date(input.value).getTime() / 1000));
		if (since > 0 && until >= since)
			select({ since, until });
		else
			$("until").focus();
	});
	$("filter-form").addEventListener("submit", (event) => {
		event.preventDefault();
		select({ filter: $("filter").value.trim() });
	});
	$("fold").addEventListener("change", (event) => select({ fold: event.target.checked }));
	$("unfold").addEventListener("click", () => unfold($("unfold").getAttribute("aria-expanded") !== "true"));
}

/* Lets the reader move the line between graph and table with the pointer or the arrow keys. */
export function listenToDivider() {
	const divider = $("divider");
	const main = divider.parentElement;
	const move = (percent) => {
		const bounded = Math.min(75, Math.max(15, percent));
		main.style.setProperty("--aside", `${bounded}%`);
		divider.setAttribute("aria-valuenow", String(Math.round(bounded)));
	};

	divider.addEventListener("pointerdown", (event) => divider.setPointerCapture(event.pointerId));
	divider.addEventListener("pointermove", (event) => {
		if (divider.hasPointerCapture(event.pointerId))
			move(100 * (innerWidth - event.clientX) / innerWidth);
	});
	divider.addEventListener("keydown", (event) => {
		const step = { ArrowLeft: 3, ArrowRight: -3 }[event.key];
		if (!step)
			return;
		move(Number(divider.getAttribute("aria-valuenow")) + step);
		event.preventDefault();
		event.stopPropagation();
	});
}
