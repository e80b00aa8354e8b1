/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The script of exported SVG files: a click zooms, "Search" or Ctrl+F highlights functions, Escape resets. Each frame is a
 * <g class="f"> with a title, a rectangle and a text. The file draws all frames at their place, so that it also shows the
 * graph where scripts do not run. CDATA contains this file, so it must not have "]]" followed by ">".
 */

"use strict";

const WIDTH = 1200;
const CHARACTER = 7.25; /* width, of the monospace font with 12 px */
const MIN_WIDTH = 0.1;

const frames = Array.from(document.querySelectorAll("g.f"), (group) => {
	const [title, box, text] = ["title", "rect", "text"].map((tag) => group.querySelector(tag));
	const number = (name) => Number(box.getAttribute(name));

	return { group, box, text, name: title.textContent.split("\n", 1)[0], facts: title.textContent.replace("\n", ": "),
		x: number("x"), width: number("width"), y: number("y") };
});
const details = document.getElementById("details");
const matched = document.getElementById("matched");
const reset = document.getElementById("reset");
const EPSILON = 1e-3;

function place({ group, box, text, name }, x, width) {
	const room = Math.floor((width - 6) / CHARACTER);
	const characters = Array.from(name);

	group.style.display = width < MIN_WIDTH ? "none" : "";
	box.setAttribute("x", x);
	box.setAttribute("width", width);
	text.setAttribute("x", x + 3);
	if (room < 3)
		text.textContent = "";
	else
		text.textContent = characters.length <= room ? name : `${characters.slice(0, room - 1).join("")}…`;
}

/* Callers of @to fill the width, its callees are enlarged, other frames are hidden. */
function zoom(to) {
	const end = to.x + to.width;

	for (const frame of frames) {
		const isCaller = frame.y < to.y && frame.x <= to.x + EPSILON && frame.x + frame.width >= end - EPSILON;
		const isInside = frame.y >= to.y && frame.x >= to.x - EPSILON && frame.x + frame.width <= end + EPSILON;

		if (isCaller)
			place(frame, 0, WIDTH);
		else if (isInside)
			place(frame, (frame.x - to.x) / to.width * WIDTH, frame.width / to.width * WIDTH);
		else
			frame.group.style.display = "none";
		frame.group.classList.toggle("caller", isCaller);
	}
	reset.style.display = to === frames[0] ? "none" : "";
}

/* Returns the width of the matching frames in the whole graph; of nested matches only the topmost counts. */
function widthOfMatches(test) {
	const counted = [];
	let sum = 0;

	for (const { x, width, y, name } of frames) {
		if (!test(name) || counted.some((other) => other.y < y && other.x <= x + EPSILON && other.x + other.width >= x + width - EPSILON))
			continue;
		counted.push({ x, width, y });
		sum += width;
	}
	return sum;
}

function testOf(text) {
	try {
		const expression = new RegExp(text, "i");
		return (name) => expression.test(name);
	} catch {
		return (name) => name.includes(text);
	}
}

function search(text) {
	const test = text ? testOf(text) : () => false;

	for (const { group, name } of frames)
		group.classList.toggle("match", test(name));
	matched.textContent = text ? `Matched: ${(100 * widthOfMatches(test) / frames[0].width).toFixed(1)} %` : "";
}

function ask() {
	const text = prompt("Names that match (a regular expression):", "");

	if (text !== null)
		search(text);
}

for (const frame of frames) {
	frame.group.addEventListener("click", () => zoom(frame));
	frame.group.addEventListener("mouseover", () => { details.textContent = frame.facts; });
	frame.group.addEventListener("mouseout", () => { details.textContent = ""; });
}
document.getElementById("search").addEventListener("click", ask);
reset.addEventListener("click", () => zoom(frames[0]));
window.addEventListener("keydown", (event) => {
	if ((event.ctrlKey || event.metaKey) && event.key === "f") {
		event.preventDefault();
		ask();
	} else if (event.key === "Escape") {
		search("");
		zoom(frames[0]);
	}
});
document.documentElement.classList.add("scripted");
