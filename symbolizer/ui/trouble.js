/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shows an error or an answer without samples as one sentence, with buttons for what the reader can do next. If the page
 * shows a graph, the graph stays and the sentence is above it; else the sentence replaces the graph.
 */

import { ApiError } from "./api.js";
import { command } from "./clipboard.js";
import { actionButton, element } from "./element.js";

export function clockTime(unix_s) {
	return new Date(unix_s * 1000).toLocaleTimeString("en-GB");
}

/* Returns "nginx · on-cpu, 08:00:00–08:15:00". */
function wordsOf({ service, event, since, until }) {
	return `${service || "the fleet"} · ${event}, ${clockTime(since)}–${clockTime(until)}`;
}

/*
 * Returns {text, actions: [[label, name]]} for an error. @shown: the selection that the page still shows, or null;
 * @goneSince_s: time of the first request that the server did not answer.
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
		return { text: `The server refused the request: ${error.message}${rest}`, actions: retry };
	return { text: `The server cannot answer: ${error.message}${rest}`, actions: retry };
}

export function isOfFilter(error) {
	return error instanceof ApiError && error.status === 400 && /tag_filter/.test(error.message);
}

/* Returns the time of the newest sample in the server's sentence; NaN if it has none. */
export function newestSample(description) {
	const [, time] = /last sample at (\S+Z)/.exec(description) ?? [];

	return time ? Date.parse(time) / 1000 : NaN;
}

/*
 * Like troubleOf(), for an answer without samples. @description: the server's sentence, which can have the time of the
 * newest sample. @anyHost: false if no agent has ever sent anything.
 */
export function troubleOfNothing(selection, description, shown, anyHost) {
	const rest = shown ? `; the page still shows ${wordsOf(shown)}` : "";

	if (!anyHost && !selection.filter)
		return { text: "No agent has sent samples to this server yet: start one as root on each host, this one for example.",
			code: `sudo hearth-agent --server ${location.origin}`, actions: [["Look again", "retry"]] };
	const actions = [];
	if (selection.filter)
		actions.push(["Clear the filter", "clear"]);
	if (Number.isFinite(newestSample(description)))
		actions.push(["Show the newest data", "newest"]);
	else if (!selection.filter)
		actions.push(["Show the last 24 h", "day"]);
	actions.push(["Go to the fleet", "fleet"]);
	return { text: description ? sentenceOf(description) + rest : `There are no samples in this time range${rest}.`, actions };
}

/* Capitalizes the server's sentence, and converts its times to the reader's time zone. */
function sentenceOf(text) {
	const local = text.replace(/\b\d{4}-\d\d-\d\dT[\d:]{8}Z/g, (time) => new Date(time).toLocaleString("sv-SE"));

	return local[0].toUpperCase() + local.slice(1);
}

/* Shows @trouble in @parts, {line, text, actions} above the graph, or in @notice, which replaces the graph. A button calls @act(name). */
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
