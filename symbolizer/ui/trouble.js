/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What went wrong, in one sentence, and the ways out. The graph that was there stays, and the sentence stands above it;
 * with nothing to show, it stands in the graph's place.
 */

import { ApiError } from "./api.js";
import { command } from "./clipboard.js";
import { actionButton, element } from "./element.js";

export function clockTime(unix_s) {
	return new Date(unix_s * 1000).toLocaleTimeString("en-GB");
}

/* "nginx · on-cpu, 08:00:00–08:15:00" */
function wordsOf({ service, event, since, until }) {
	return `${service || "the fleet"} · ${event}, ${clockTime(since)}–${clockTime(until)}`;
}

/*
 * {text, actions: [[label, name]]} for what was thrown. @shown: the selection that is still to be seen, or null;
 * @goneSince_s: when the server did not answer for the first time.
 */
export function troubleOf(error, shown, goneSince_s) {
	const rest = shown ? `; the page still shows ${wordsOf(shown)}` : "";
	const retry = [["Try again", "retry"]];

	if (!(error instanceof ApiError))
		return { text: `The answer could not be shown: ${error.message}`, actions: retry };
	if (error.status === 0)
		return { text: `The server has not answered since ${clockTime(goneSince_s)}${rest}.`, actions: retry };
	if (error.status === 401)
		return { text: `The server asks for a token with the scope “read”${rest}.`, actions: [["Enter a token", "token"]] };
	if (error.status === 403) {
		const [, token, scope] = /^token '(.*)' lacks .*: (.+)$/.exec(error.message) ?? [];
		return { text: token ? `Token “${token}” lacks the scope “${scope}”, which profiles need${rest}.` : error.message + rest,
			actions: [["Enter another token", "token"]] };
	}
	if (isOfFilter(error))
		return { text: error.message + rest, actions: [["Clear the filter", "clear"]] };
	if (error.status < 500)
		return { text: `The server refused the question: ${error.message}${rest}`, actions: retry };
	return { text: `The server cannot answer: ${error.message}${rest}`, actions: retry };
}

export function isOfFilter(error) {
	return error instanceof ApiError && error.status === 400 && /tag_filter/.test(error.message);
}

/* When the newest sample was, as the server says it; NaN where it does not. */
export function newestSample(description) {
	const [, time] = /last sample at (\S+Z)/.exec(description) ?? [];

	return time ? Date.parse(time) / 1000 : NaN;
}

/*
 * The same for an answer without samples. @description: the server's sentence, which says when the newest samples are.
 * @anyHost: false where no agent has ever sent anything.
 */
export function troubleOfNothing(asked, description, shown, anyHost) {
	const rest = shown ? `; the page still shows ${wordsOf(shown)}` : "";

	if (!anyHost && !asked.filter)
		return { text: "No agent has sent samples to this server yet: start one as root on each host, this one for example.",
			code: `sudo hearth-agent --server ${location.origin}`, actions: [["Look again", "retry"]] };
	const actions = [];
	if (asked.filter)
		actions.push(["Clear the filter", "clear"]);
	if (Number.isFinite(newestSample(description)))
		actions.push(["Show the newest data", "newest"]);
	else if (!asked.filter)
		actions.push(["Show the last 24 h", "day"]);
	actions.push(["Go to the fleet", "fleet"]);
	return { text: description ? sentenceOf(description) + rest : `There are no samples in this time range${rest}.`, actions };
}

/* The server's words with a capital letter, and its times as the reader's clock has them. */
function sentenceOf(text) {
	const local = text.replace(/\b\d{4}-\d\d-\d\dT[\d:]{8}Z/g, (time) => new Date(time).toLocaleString("sv-SE"));

	return local[0].toUpperCase() + local.slice(1);
}

/* @parts: {line, text, actions} above the graph, and @notice in its place. @act(name) is called with what is chosen. */
export function showTrouble(parts, notice, trouble, isAbove, act) {
	const text = /[.?!]$/.test(trouble.text) ? trouble.text : `${trouble.text}.`;
	const buttons = trouble.actions.map(([label, name], at) => actionButton(at === 0 ? "primary" : "", label, () => act(name)));

	parts.line.hidden = !isAbove;
	notice.hidden = isAbove;
	if (isAbove) {
		parts.text.textContent = text;
		parts.actions.replaceChildren(...(trouble.code ? [command(trouble.code)] : []), ...buttons);
		return;
	}
	notice.replaceChildren(element("div", "card", element("p", "", text),
		...(trouble.code ? [command(trouble.code)] : []), element("p", "actions", ...buttons)));
	notice.setAttribute("role", "alert");
}

export function hideTrouble(parts, notice) {
	parts.line.hidden = true;
	notice.hidden = true;
}
