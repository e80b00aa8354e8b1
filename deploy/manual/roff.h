/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes text in the man(7) language. All texts are escaped, so that they never become commands.
 */

#include "common/bytes.h"

enum roff_font {
	ROFF_ROMAN,
	ROFF_BOLD,
	ROFF_ITALIC,
};

/* Appends @size bytes of @text in a font. */
void roff_text_sized(struct bytes *out, enum roff_font font, const char *text, size_t size);
void roff_text(struct bytes *out, enum roff_font font, const char *text);

/*
 * Appends a paragraph. Breaks lines at blanks to at most about 78 bytes, and starts a line with
 * each sentence. Ends with a line feed.
 */
void roff_paragraph(struct bytes *out, const char *text, size_t size);

/* .TH and .SH */
void roff_title(struct bytes *out, const char *name, char section, const char *date);
void roff_heading(struct bytes *out, const char *heading);
