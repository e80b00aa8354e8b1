/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolizer/http/message.h"

/*
 * Fills @response with an error in the form of the Connect protocol:
 * {"code": "invalid_argument", "message": "..."}.
 */
void connect_error(struct http_response *response, unsigned int status, const char *message);
