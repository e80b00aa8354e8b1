/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/symbols/dwarf/dwarf_scopes.h"

void dwarf_scopes_release(struct dwarf_scopes *scopes)
{
	vec_release(&scopes->scopes);
	vec_release(&scopes->functions);
}

static int compare_functions(const void *left, const void *right)
{
	const struct scoped_function *a = left;
	const struct scoped_function *b = right;

	return a->entry < b->entry ? -1 : a->entry > b->entry;
}

void dwarf_scopes_sort(struct dwarf_scopes *scopes)
{
	if (scopes->functions.count > 0)
		qsort(scopes->functions.items, scopes->functions.count,
		      sizeof(*scopes->functions.items), compare_functions);
}

uint32_t dwarf_scopes_find(const struct dwarf_scopes *scopes, dwarf_ref entry)
{
	const struct scoped_function wanted = { .entry = entry };
	const struct scoped_function *found = NULL;

	if (scopes && scopes->functions.count > 0)
		found = bsearch(&wanted, scopes->functions.items, scopes->functions.count,
				sizeof(wanted), compare_functions);
	return found ? found->scope : NO_SCOPE;
}
