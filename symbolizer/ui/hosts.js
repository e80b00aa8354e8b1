/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the profiles of a host miss. Agents report that by labels: agent.reduced has what the agent has reduced to keep
 * its budget, kernel.lacks has the features that its kernel does not have.
 */

/* Sentences on what the profiles of @host miss. */
export function notesOf({ labels = {} }) {
	const notes = [];

	if (labels["agent.reduced"])
		notes.push(`reduced to keep its budget: ${labels["agent.reduced"]}`);
	if (labels["kernel.lacks"])
		notes.push(`its kernel lacks: ${labels["kernel.lacks"].replaceAll(",", ", ")}`);
	return notes;
}
