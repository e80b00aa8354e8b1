/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/query/function_match.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum match { MATCH_UNKNOWN, MATCH_NO, MATCH_YES };

/* Returns the length of @name without a suffix like " (app.py:12)". */
static size_t length_without_line(const char *name)
{
	size_t length = strlen(name), i = length;
	const char *open;

	if (length == 0 || name[--i] != ')')
		return length;
	while (i > 0 && isdigit((unsigned char)name[i - 1]))
		i--;
	if (i == 0 || i == length - 1 || name[i - 1] != ':')
		return length;
	open = memrchr(name, '(', i);
	return open && open > name && open[-1] == ' ' ? (size_t)(open - 1 - name) : length;
}

/* Labels begin with "[l] " and the like: one letter. */
static const char *without_prefix(const char *name)
{
	const bool has_prefix = name[0] == '[' && name[1] != '\0' && name[2] == ']' &&
				name[3] == ' ' && name[4] != '\0';

	return has_prefix ? name + 4 : name;
}

int function_match_init(struct function_match *match, const char *label)
{
	const char *name = without_prefix(label);

	*match = (struct function_match){ .name = strndup(name, length_without_line(name)) };
	return match->name ? 0 : -ENOMEM;
}

void function_match_release(struct function_match *match)
{
	free(match->name);
	free(match->matches);
	*match = (struct function_match){};
}

int function_match_begin(struct function_match *match, const struct resolved_stacks *stacks)
{
	if (match->matches)
		return 0;
	match->n_matches = stacks->frames.functions.count;
	match->matches = calloc(MAX(match->n_matches, (size_t)1), sizeof(*match->matches));
	return match->matches ? 0 : -ENOMEM;
}

static bool is_name(const struct function_match *match, const struct frame_function *function)
{
	return (function->name && strcmp(function->name, match->name) == 0) ||
	       (function->linkage_name && strcmp(function->linkage_name, match->name) == 0);
}

bool function_match_is(struct function_match *match, const struct resolved_stacks *stacks,
		       const struct resolved_frame *frame)
{
	const struct frame_function *function = resolved_function(stacks, frame);
	uint8_t *known;

	if (!function)
		return false;
	if (frame->function >= match->n_matches)
		return is_name(match, function);
	known = &match->matches[frame->function];
	if (*known == MATCH_UNKNOWN)
		*known = is_name(match, function) ? MATCH_YES : MATCH_NO;
	return *known == MATCH_YES;
}

bool function_match_is_nameless(const struct function_match *match,
				const struct resolved_stacks *stacks,
				const struct resolved_frame *frame)
{
	return frame->function == FRAME_NO_FUNCTION && resolved_stored(stacks, frame) &&
	       strcmp(without_prefix(resolved_label(stacks, frame)), match->name) == 0;
}
