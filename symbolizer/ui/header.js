/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The controls in the head of the page: they show the state, and report what is chosen.
 */

import { rangeOf } from "./state.js";

const EVENT_ORDER = ["on-cpu", "off-cpu", "run-queue", "on-gpu", "mem-alloc", "mem-inuse", "hbm-alloc", "hbm-inuse", "rdma"];
const TIME_EVENTS = new Set(["on-cpu", "off-cpu", "run-queue", "on-gpu"]); /* what Total has */

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

/* The types that the service has, and the chosen one in any case. */
function showEvents(state, services) {
	const fieldset = $("events");
	const there = new Set(services.filter(({ name, event }) => state.service === TOTAL ? TIME_EVENTS.has(event) : name === state.service)
		.map(({ event }) => event));

	there.add(state.event);
	const labels = EVENT_ORDER.filter((event) => there.has(event)).map((event) => {
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

/* "2026-08-21T09:30:00" in local time, as datetime-local wants it. */
function localTime(unix_s) {
	const date = new Date((unix_s - new Date(unix_s * 1000).getTimezoneOffset() * 60) * 1000);
	return date.toISOString().slice(0, 19);
}

/* The second row is folded away on small screens. */
function unfold(isOpen) {
	$("header").classList.toggle("open", isOpen);
	$("unfold").setAttribute("aria-expanded", String(isOpen));
}

/* @ask(changes) of the state; @stateNow() is the state that a custom range begins with. */
export function listenToControls(ask, stateNow) {
	$("events").addEventListener("change", (event) => ask({ event: event.target.value }));
	$("ranges").addEventListener("change", (event) => {
		if (event.target.value !== "custom") {
			ask({ last: event.target.value, since: 0, until: 0 });
			return;
		}
		unfold(true);
		const { since, until } = rangeOf(stateNow(), Math.floor(Date.now() / 1000));
		ask({ since, until });
	});
	$("custom").addEventListener("submit", (event) => {
		event.preventDefault();
		const [since, until] = [$("since"), $("until")].map((input) => Math.floor(new Date(input.value).getTime() / 1000));
		if (since > 0 && until >= since)
			ask({ since, until });
		else
			$("until").focus();
	});
	$("filter-form").addEventListener("submit", (event) => {
		event.preventDefault();
		ask({ filter: $("filter").value.trim() });
	});
	$("fold").addEventListener("change", (event) => ask({ fold: event.target.checked }));
	$("unfold").addEventListener("click", () => unfold($("unfold").getAttribute("aria-expanded") !== "true"));
}

/* The line between graph and table can be dragged, and moved by arrow keys. */
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
