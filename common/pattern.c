/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts may contain any bytes: invalid UTF-8 matches nothing, but the text around it can match.
 * PCRE2's interpreter is used instead of its JIT, which has no depth and heap limits and needs
 * memory that is writable and executable.
 */

#include "common/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Longer than any filter in practice. */
#define MAX_PATTERN_BYTES 16384

/*
 * Internal calls of PCRE2's match() per text, which take some ten milliseconds. Ordinary patterns
 * need fewer than a thousand.
 */
#define MATCH_LIMIT 1000000

/*
 * Backtracking points held at the same time, of about 150 bytes each. The heap limit is about the
 * size of this many points.
 */
#define DEPTH_LIMIT    50000
#define HEAP_LIMIT_KIB 8192

struct pattern {
	pcre2_code *code;
	pcre2_match_context *context;
};

static void scoped_free_compile_context(pcre2_compile_context **context)
{
	pcre2_compile_context_free(*context);
}

static void scoped_free_match_data(pcre2_match_data **data)
{
	pcre2_match_data_free(*data);
}

static int compile(struct pattern *pattern, const char *text, bool ignore_case, char *ret_message,
		   size_t message_size, size_t *ret_offset)
{
	scoped(scoped_free_compile_context) pcre2_compile_context *context =
		pcre2_compile_context_create(NULL);
	uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
	int error = 0;
	PCRE2_SIZE offset = 0;

	if (!context)
		return -ENOMEM;
	pcre2_set_max_pattern_length(context, MAX_PATTERN_BYTES);
	if (ignore_case)
		options |= PCRE2_CASELESS;
	pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &error,
				      &offset, context);
	if (pattern->code)
		return 0;
	if (error == PCRE2_ERROR_HEAP_FAILED)
		return -ENOMEM;
	if (message_size > 0)
		(void)pcre2_get_error_message(error, (PCRE2_UCHAR *)ret_message, message_size);
	*ret_offset = offset;
	return -EINVAL;
}

int pattern_new(const char *text, bool ignore_case, char *ret_message, size_t message_size,
		size_t *ret_offset, struct pattern **ret_pattern)
{
	scoped(pattern_freep) struct pattern *pattern = calloc(1, sizeof(*pattern));
	int r;

	if (!pattern)
		return -ENOMEM;
	r = compile(pattern, text, ignore_case, ret_message, message_size, ret_offset);
	if (r < 0)
		return r;
	pattern->context = pcre2_match_context_create(NULL);
	if (!pattern->context)
		return -ENOMEM;
	pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
	pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(pattern->context, HEAP_LIMIT_KIB);

	*ret_pattern = take_ptr(pattern);
	return 0;
}

struct pattern *pattern_free(struct pattern *pattern)
{
	if (!pattern)
		return NULL;
	pcre2_code_free(pattern->code);
	pcre2_match_context_free(pattern->context);
	free(pattern);
	return NULL;
}

int pattern_matches(const struct pattern *pattern, const char *text, size_t length)
{
	/* One pair of offsets, because no caller needs groups. */
	scoped(scoped_free_match_data) pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	int r;

	if (!data)
		return -ENOMEM;
	r = pcre2_match(pattern->code, (PCRE2_SPTR)text, length, 0, 0, data, pattern->context);
	if (r >= 0)
		return 1;
	if (r == PCRE2_ERROR_NOMATCH)
		return 0;
	return r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -E2BIG;
}
