/* SPDX-License-Identifier: Apache-2.0 */
#include "common/shell_word.h"

#include <ctype.h>
#include <string.h>

/* A single quote within single quotes: closes them, adds an escaped quote, opens them again. */
#define QUOTE "'\\''"

/* No shell interprets any character of @word. */
static bool is_plain(const char *word)
{
	for (const char *c = word; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("._-/:+,=@%", *c))
			return false;
	}
	return word[0] != '\0';
}

static size_t append(char *text, size_t used, size_t size, const char *piece)
{
	size_t length = strlen(piece);

	if (used + length >= size)
		return used;
	memcpy(text + used, piece, length + 1);
	return used + length;
}

void shell_word_append(const char *word, char *text, size_t size)
{
	/* Reserves a byte for the closing quote of a truncated word. */
	size_t size_within = size > 1 ? size - 1 : size;
	size_t used = strlen(text);

	if (is_plain(word)) {
		(void)append(text, used, size, word);
		return;
	}
	used = append(text, used, size_within, "'");
	for (; *word; word++) {
		char piece[] = { iscntrl((unsigned char)*word) ? '?' : *word, '\0' };
		size_t before = used;

		used = append(text, used, size_within, *word == '\'' ? QUOTE : piece);
		if (used == before)
			break;
	}
	(void)append(text, used, size, "'");
}
