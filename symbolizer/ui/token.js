/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The dialog that asks for a token.
 */

import { setToken } from "./api.js";

export const WANTED_TOKEN = "Enter one with the scope “read”. It is kept in this tab only.";

const $ = (id) => document.getElementById(id);

export function askForToken(reason) {
	$("token-reason").textContent = reason;
	$("token").value = "";
	if (!$("token-dialog").open)
		$("token-dialog").showModal();
}

/* Calls @entered() after the reader has entered a token. */
export function listenToToken(entered) {
	$("token-form").addEventListener("submit", (event) => {
		event.preventDefault();
		setToken($("token").value);
		$("token-dialog").close();
		entered();
	});
	$("token-cancel").addEventListener("click", () => $("token-dialog").close());
}
