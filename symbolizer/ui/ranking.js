/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Ranks services by their share of all CPU time: joins the rows of GET /v1/services with the groups of GET /v1/groups.
 */

import { formatAge, formatShare } from "./format.js";

/* Services after the ten largest are not listed if their share rounds to 0.0 %. The command `hearth` does the same. */
const SMALL_SHARE = 0.0005;
const LEAST_LISTED = 10;

/*
 * Returns [{name, value, share, hosts, events, last_time}], the largest first. Processes without stacks, which are not
 * services, have no events. @totals is the result of fetchTotals(), or null if CPU times are not known yet.
 */
export function rankServices(rows, totals) {
	const byName = new Map();

	for (const { name, event, hosts, last_time } of rows) {
		const item = byName.get(name) ?? { name, hosts: 0, events: [], last_time: 0 };
		item.hosts = Math.max(item.hosts, hosts);
		item.last_time = Math.max(item.last_time, last_time ?? 0);
		item.events.push(event);
		byName.set(name, item);
	}
	for (const name of totals?.values.keys() ?? []) {
		if (!byName.has(name))
			byName.set(name, { name, hosts: 0, events: [], last_time: 0 });
	}
	for (const item of byName.values()) {
		item.value = totals?.values.get(item.name) ?? 0;
		item.share = totals?.whole > 0 ? item.value / totals.whole : 0;
	}
	return [...byName.values()].sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1));
}

/* Returns {listed, n_folded}: the services to list, and the number of small services that are not listed. */
export function foldSmall(ranked) {
	if (!ranked.some(({ value }) => value > 0))
		return { listed: ranked, n_folded: 0 };
	const listed = ranked.filter(({ share, value }, at) => share >= SMALL_SHARE || (at < LEAST_LISTED && value > 0));
	return { listed, n_folded: ranked.length - listed.length };
}

/* Returns the items of the picker, {items: [{name, note}], n_folded}, without processes that are not services. */
export function pickerItems(services, totals, now_s) {
	const ranked = rankServices(services, totals).filter(({ events }) => events.length > 0);
	const notes = ({ value, share, hosts, last_time }) => [...(value > 0 ? [formatShare(share, 1)] : []),
		hosts === 1 ? "1 host" : `${hosts} hosts`, ...(last_time ? [`${formatAge(now_s - last_time)} ago`] : [])];

	return { items: ranked.map((item) => ({ name: item.name, note: notes(item).join(" · ") })), n_folded: foldSmall(ranked).n_folded };
}

/* Returns the items with @text in their name, those that begin with it first; otherwise in the order of @items. */
export function fittingItems(items, text) {
	const lower = text.toLowerCase();
	const ranked = items.map((item) => [item.name.toLowerCase().indexOf(lower), item]).filter(([at]) => at >= 0);

	return [...ranked.filter(([at]) => at === 0), ...ranked.filter(([at]) => at > 0)].map(([, item]) => item);
}
