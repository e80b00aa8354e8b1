/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Commands of `hearth` for the reader's shell. The server writes its address as requests reach it: behind a proxy that is
 * not the address that works for the reader, and it lacks the path prefix. The page's own location has both.
 */

const DEFAULT_SERVER = "http://127.0.0.1:20416"; /* of hearth without --server */

/* The server's address for clients, from the page's location. */
export function serverOf({ origin, pathname }) {
	return origin + pathname.replace(/\/[^/]*$/, "");
}

function isLoopback(url) {
	return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? "");
}

function urlOf(word) {
	try {
		return new URL(word.replaceAll("'", ""));
	} catch {
		return null;
	}
}

function shellWord(text) {
	return /^[\w./:+,=@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/* @command, for the server at @own if it names none, one of this machine, or @own's without the path prefix. */
export function withServer(command, own) {
	const [whole, start, word] = /^(hearth \w+)(?: --server ('[^']*'|\S+))?(?= |$)/.exec(command) ?? [];
	const named = urlOf(word ?? DEFAULT_SERVER);

	if (!whole || (word ?? DEFAULT_SERVER) === own || !(isLoopback(named) || named?.origin === new URL(own).origin))
		return command;
	return `${start} --server ${shellWord(own)}${command.slice(whole.length)}`;
}
