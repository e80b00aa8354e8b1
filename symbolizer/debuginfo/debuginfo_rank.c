/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An identity has a handful of files. A file is needed for a kind unless another file of that kind
 * is at least as trusted and at least as rich. It is kept while it is needed for some kind.
 */

#include "symbolizer/debuginfo/debuginfo_private.h"

bool debuginfo_is_of_kind(const struct debuginfo_entry *entry, enum debuginfo_kind kind)
{
	const bool is_elf = !entry->is_source && !entry->is_split;

	switch (kind) {
	case DEBUGINFO_KIND_NAMES:
		return is_elf && entry->richness > DEBUGINFO_NOTHING;
	case DEBUGINFO_KIND_DEBUGINFO:
		return is_elf && (entry->richness > DEBUGINFO_SYMBOLS ||
				  (entry->richness == DEBUGINFO_SYMBOLS && !entry->has_code));
	case DEBUGINFO_KIND_EXECUTABLE:
		return is_elf && entry->has_code;
	case DEBUGINFO_KIND_SOURCE:
		return entry->is_source;
	case DEBUGINFO_KIND_SPLIT:
		return entry->is_split;
	}
	return false;
}

/* For kind EXECUTABLE, only code counts: symbols do not make a file better. */
static bool is_as_good(const struct debuginfo_entry *other, const struct debuginfo_entry *entry,
		       enum debuginfo_kind kind)
{
	return debuginfo_is_of_kind(other, kind) && other->origin >= entry->origin &&
	       (kind == DEBUGINFO_KIND_EXECUTABLE || kind == DEBUGINFO_KIND_SOURCE ||
		other->richness >= entry->richness);
}

static bool is_needed_for(const struct debuginfo_entry *entry, enum debuginfo_kind kind,
			  const struct debuginfo_entry *others, size_t n_others)
{
	if (!debuginfo_is_of_kind(entry, kind))
		return false;
	for (size_t i = 0; i < n_others; i++)
		if (is_as_good(&others[i], entry, kind))
			return false;
	return true;
}

bool debuginfo_is_needed(const struct debuginfo_entry *entry, const struct debuginfo_entry *others,
			 size_t n_others)
{
	return is_needed_for(entry, DEBUGINFO_KIND_NAMES, others, n_others) ||
	       is_needed_for(entry, DEBUGINFO_KIND_DEBUGINFO, others, n_others) ||
	       is_needed_for(entry, DEBUGINFO_KIND_EXECUTABLE, others, n_others) ||
	       is_needed_for(entry, DEBUGINFO_KIND_SOURCE, others, n_others) ||
	       is_needed_for(entry, DEBUGINFO_KIND_SPLIT, others, n_others);
}

const char *debuginfo_origin_name(enum debuginfo_origin origin)
{
	static const char *const names[] = {
		[DEBUGINFO_FROM_USER] = "agent-user",
		[DEBUGINFO_FROM_AGENT] = "agent",
		[DEBUGINFO_FROM_UPSTREAM] = "upstream",
		[DEBUGINFO_FROM_PIPELINE] = "pipeline",
	};

	return (size_t)origin < ARRAY_SIZE(names) && names[origin] ? names[origin] : "unknown";
}
