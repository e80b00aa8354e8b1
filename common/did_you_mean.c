/* SPDX-License-Identifier: Apache-2.0 */
#include "common/did_you_mean.h"

#include <ctype.h>
#include <string.h>

static bool same_letter(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

unsigned int name_distance(const char *a, const char *b)
{
	size_t a_length = strnlen(a, DID_YOU_MEAN_MAX_BYTES);
	size_t b_length = strnlen(b, DID_YOU_MEAN_MAX_BYTES);
	unsigned int row[DID_YOU_MEAN_MAX_BYTES + 1];

	if (a_length > 0 && b_length > 0 && (strcasestr(a, b) || strcasestr(b, a)))
		return a_length == b_length ? 0 : 1;

	for (size_t j = 0; j <= b_length; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 1; i <= a_length; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned int replace = diagonal + !same_letter(a[i - 1], b[j - 1]);
			unsigned int either = MIN(row[j], row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = MIN(replace, either);
		}
	}
	return row[b_length];
}
