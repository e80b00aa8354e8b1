/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Errors in answers of a ClickHouse server. Old and new versions write:
 *
 *   Code: 62, e.displayText() = DB::Exception: Syntax error: ..., e.what() = DB::Exception
 *   Code: 62. DB::Exception: Syntax error: ... (SYNTAX_ERROR) (version 24.8.4.13)
 */

#include "common/bytes.h"

#define SERVER_ERROR_TEXT_SIZE 512

struct server_error {
	unsigned int code; /* 0: the answer has none */
	/* The first line, without the class of the exception. Has no control characters. */
	char text[SERVER_ERROR_TEXT_SIZE];
};

void server_error_parse(struct bytes_view answer, struct server_error *ret_error);

/* The errno of a code; -EIO for most. */
int server_error_errno(unsigned int code);

/* Whether the same query can succeed a little later. */
bool server_error_is_temporary(unsigned int code);
