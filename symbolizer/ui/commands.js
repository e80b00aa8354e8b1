/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Corrects the server's address in `hearth` commands for the reader's shell. The server writes the address at which it
 * receives requests. Behind a proxy the reader cannot use that address, and it lacks the path prefix. The location of the
 * page has the right address.
 */

const DEFAULT_SERVER = "http://127.0.0.1:20416"; /* hearth's default for --server */

/* Returns the server's address for clients, from the page's location. */
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

/*
 * Returns @command with the server @own if the command names no server, a loopback address, or the address of @own without
 * its path prefix; else @command unchanged.
 */
export function withServer(command, own) {
	const [whole, start, word] = /^(hearth \w+)(?: --server ('[^']*'|\S+))?(?= |$)/.exec(command) ?? [];
	const named = urlOf(word ?? DEFAULT_SERVER);

	if (!whole || (word ?? DEFAULT_SERVER) === own || !(isLoopback(named) || named?.origin === new URL(own).origin))
		return command;
	return `${start} --server ${shellWord(own)}${command.slice(whole.length)}`;
}
