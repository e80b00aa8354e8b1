/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the answers to batches of agents and to imported profiles share (ingest.c). */

#include "symbolizer/api/api.h"

/* Counts a batch that ingest_batch() has accepted. */
void ingest_count(struct api_context *context, const struct ingest_result *result);

/* Answers with the error of ingest_batch(), and counts it. */
void ingest_refuse(struct api_context *context, struct http_response *response, int error,
		   const char *message);
