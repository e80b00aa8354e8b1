/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Text in the man(7) language. Nothing of what is passed in can become a command of it.
 */

#include "common/bytes.h"

enum roff_font {
	ROFF_ROMAN,
	ROFF_BOLD,
	ROFF_ITALIC,
};

/* @text as it is, up to @size bytes of it, in a font. */
void roff_text_sized(struct bytes *out, enum roff_font font, const char *text, size_t size);
void roff_text(struct bytes *out, enum roff_font font, const char *text);

/* A paragraph: lines of at most 78 bytes where blanks allow that, a sentence begins a line. Ends
 * with a line feed. */
void roff_paragraph(struct bytes *out, const char *text, size_t size);

/* .TH and .SH */
void roff_title(struct bytes *out, const char *name, char section, const char *date);
void roff_heading(struct bytes *out, const char *heading);
