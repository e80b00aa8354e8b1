/* SPDX-License-Identifier: Apache-2.0 */

export function element(tag, className, ...children) {
	const made = document.createElement(tag);

	made.className = className;
	made.append(...children);
	return made;
}
