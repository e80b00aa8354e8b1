/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server as one object: the stores, the names, the ingest and the HTTP server on top, opened in
 * this order and closed in the other.
 */

#include "common/clock.h"
#include "symbolizer/config.h"

struct symbolizer;

#define SYMBOLIZER_MESSAGE_SIZE 768

/*
 * Opens everything and serves. On failure @ret_message names the thing, the cause and the remedy.
 * The configuration is borrowed for the call only.
 */
int symbolizer_start(const struct symbolizer_config *config, const struct clock *clock,
		     struct symbolizer **ret_symbolizer, char ret_message[SYMBOLIZER_MESSAGE_SIZE]);

/* Finishes requests that have begun and closes everything. Returns NULL. */
struct symbolizer *symbolizer_free(struct symbolizer *symbolizer);

/* Takes tokens and log level from @config; the rest needs a restart. A failure is logged, and the
 * old tokens stay. */
void symbolizer_reload(struct symbolizer *symbolizer, const struct symbolizer_config *config);

/* Reads the tokens file again if it was changed since it was last read; logged like a reload. To be
 * called every few seconds, by the thread that calls symbolizer_reload(). */
void symbolizer_check_tokens(struct symbolizer *symbolizer);

/* Removes what is older than the retention; a failure is logged. To be called about once an hour.
 */
void symbolizer_prune(struct symbolizer *symbolizer);

/* The port of the first address. */
unsigned int symbolizer_port(const struct symbolizer *symbolizer);

#include "common/scoped.h"
DEFINE_SCOPED(struct symbolizer *, symbolizer_free);
