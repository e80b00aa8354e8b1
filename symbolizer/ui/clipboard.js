/* SPDX-License-Identifier: Apache-2.0 */

import { element } from "./element.js";

const SAID_MS = 1500;

const answers = new WeakMap(); /* of buttons that show one: {label, timer} */

/* The clipboard API is missing where the page came over plain HTTP from another host. */
export async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const area = document.createElement("textarea");
		area.value = text;
		document.body.append(area);
		area.select();
		const copied = document.execCommand("copy");
		area.remove();
		return copied;
	}
}

/* Copies, and says so in the button for a moment. */
export async function copyFrom(button, text) {
	const words = await copyText(text) ? "Copied" : "Not allowed";
	const label = answers.get(button)?.label ?? button.textContent;
	const end = () => {
		button.textContent = label;
		answers.delete(button);
	};

	clearTimeout(answers.get(button)?.timer);
	answers.set(button, { label, timer: setTimeout(end, SAID_MS) });
	button.textContent = words;
}

export function copyButton(text, label = "Copy", name = "Copy the command") {
	const button = element("button", "copy", label);

	button.type = "button";
	button.title = name;
	button.setAttribute("aria-label", name);
	button.addEventListener("click", () => copyFrom(button, text));
	return button;
}

/* A command to run in a shell, with a button that copies it. */
export function command(text) {
	const code = element("code", "", text);

	code.title = text;
	return element("div", "command", code, copyButton(text));
}
