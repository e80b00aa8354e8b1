/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "symbolizer/http/message.h"

/*
 * The error styles of OTLP/HTTP: google.rpc.Status in the encoding of the request. Errors that are
 * found before the handler runs have the binary one, which is what nearly all clients send.
 */
void otlp_error(struct http_response *response, unsigned int status, const char *message);
void otlp_error_json(struct http_response *response, unsigned int status, const char *message);
