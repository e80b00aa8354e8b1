/* SPDX-License-Identifier: Apache-2.0 */

/* argp compares flags with the names in its tables, which contain '-' only. */

#include "symbolizer/cli/options/option_hyphens.h"

#include <string.h>

void option_hyphens_replace(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		for (char *next = argv[i]; *next && *next != '='; next++)
			if (*next == '_')
				*next = '-';
	}
}
