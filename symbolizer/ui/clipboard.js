/* SPDX-License-Identifier: Apache-2.0 */

import { element } from "./element.js";

const CONFIRMED_MS = 1500;

const confirming = new WeakMap(); /* buttons that show "Copied": {label, timer} */

/*
 * Copies @text, and returns whether it succeeded. Browsers provide the clipboard API only for HTTPS and for the local
 * host; elsewhere the text of a temporary text field is copied.
 */
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

/* Copies @text, and shows the result as the button's label for CONFIRMED_MS. */
export async function copyFrom(button, text) {
	const words = await copyText(text) ? "Copied" : "Not allowed";
	const label = confirming.get(button)?.label ?? button.textContent;
	const end = () => {
		button.textContent = label;
		confirming.delete(button);
	};

	clearTimeout(confirming.get(button)?.timer);
	confirming.set(button, { label, timer: setTimeout(end, CONFIRMED_MS) });
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

/* Makes an element with a shell command and a button that copies it. */
export function command(text) {
	const code = element("code", "", text);

	code.title = text;
	return element("div", "command", code, copyButton(text));
}
