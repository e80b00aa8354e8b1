/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Colours of the 256-colour palette by type of function, similar to those of the web page. */

#define COLOUR_RESET "\033[0m"

static inline const char *colour_of_kind(char type)
{
	switch (type) {
	case 'A':
		return "\033[38;5;173m";
	case 'L':
		return "\033[38;5;72m";
	case 'K':
		return "\033[38;5;104m";
	case 'C':
		return "\033[38;5;107m";
	case 'O':
		return "\033[38;5;175m";
	default:
		return "\033[38;5;245m";
	}
}
