/* SPDX-License-Identifier: Apache-2.0 */

export function element(tag, className, ...children) {
	const made = document.createElement(tag);

	made.className = className;
	made.append(...children);
	return made;
}

export function actionButton(className, label, act) {
	const button = element("button", className, label);

	button.type = "button";
	button.addEventListener("click", act);
	return button;
}

/*
 * Makes a line with a long name. In a narrow column its middle is hidden, because paths and C++ names differ at their
 * ends. Searches and screen readers get the whole text.
 */
export function elided(text) {
	const tail = Math.min(18, Math.floor(text.length / 2));

	if (text.length < 16)
		return element("span", "elided", element("span", "head", text));
	return element("span", "elided", element("span", "head", text.slice(0, -tail)), element("span", "tail", text.slice(-tail)));
}
