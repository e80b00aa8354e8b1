/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Formats values for people. The server's values are microseconds for the event types that measure time, bytes for the
 * others.
 */

const MEMORY_TYPES = new Set(["mem-alloc", "mem-inuse", "hbm-alloc", "hbm-inuse", "rdma"]);

export function isMemoryType(event) {
	return MEMORY_TYPES.has(event);
}

/* Formats three significant digits, without an exponent. */
function threeDigits(number) {
	if (number >= 100 || Number.isInteger(number))
		return Math.round(number).toString();
	return number.toFixed(number >= 10 ? 1 : 2);
}

export function formatTime(us) {
	if (us < 1e3)
		return `${Math.round(us)} µs`;
	if (us < 999.5e3)
		return `${threeDigits(us / 1e3)} ms`;
	if (us < 59.95e6)
		return `${threeDigits(us / 1e6)} s`;

	const seconds = Math.round(us / 1e6);
	const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24,
		Math.floor(seconds / 60) % 60];
	if (days > 0)
		return `${days} d ${hours} h`;
	if (hours > 0)
		return `${hours} h ${minutes} m`;
	return `${minutes} m ${seconds % 60} s`;
}

/* Formats an age: "4 s", "12 m", "3 h", "5 d". */
export function formatAge(seconds) {
	const units = [[86400, "d"], [3600, "h"], [60, "m"]];

	for (const [size, name] of units) {
		if (seconds >= 1.5 * size)
			return `${Math.round(seconds / size)} ${name}`;
	}
	return `${Math.max(0, Math.round(seconds))} s`;
}

export function formatBytes(bytes) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let unit = 0;

	while (bytes >= 999.5 && unit < units.length - 1) {
		bytes /= 1024;
		unit++;
	}
	return `${threeDigits(bytes)} ${units[unit]}`;
}

export function formatValue(event, value) {
	return isMemoryType(event) ? formatBytes(value) : formatTime(value);
}

/* Formats a share: "12.3 %". Only 0 is formatted as "0 %", and only shares from 99.995 % on as "100 %". */
export function formatShare(part, whole) {
	const percent = whole > 0 ? 100 * part / whole : 0;

	if (percent === 0)
		return "0 %";
	if (percent < 0.01)
		return "< 0.01 %";
	if (percent >= 99.995)
		return "100 %";
	return `${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}

export function formatCount(count) {
	return Math.round(count).toLocaleString("en").replaceAll(",", "\u2009");
}

/* The names of the function types, in the order of the legend. */
export const KINDS = {
	A: "application",
	L: "library",
	K: "kernel",
	C: "CUDA",
	O: "object",
	T: "thread",
	P: "process",
	H: "host",
	"?": "unresolved",
};

/* Removes the prefix, because the colour has the same information: "[k] do_idle" is drawn as "do_idle". */
export function shortName(label, type) {
	return "LKCTP".includes(type) && /^\[[lkctp]\] ./.test(label) ? label.slice(4) : label;
}
