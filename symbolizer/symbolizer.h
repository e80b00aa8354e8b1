/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The server as one object: the stores, the resolver, the ingest and the HTTP server, opened in
 * this order and closed in reverse order.
 */

#include "common/clock.h"
#include "symbolizer/config.h"

struct symbolizer;

#define SYMBOLIZER_MESSAGE_SIZE 768

/*
 * Opens all objects and serves. On failure @ret_message names the object, the cause and the remedy.
 * @config is borrowed for the call only.
 */
int symbolizer_start(const struct symbolizer_config *config, const struct clock *clock,
		     struct symbolizer **ret_symbolizer, char ret_message[SYMBOLIZER_MESSAGE_SIZE]);

/* Finishes started requests and closes all objects. Returns NULL. */
struct symbolizer *symbolizer_free(struct symbolizer *symbolizer);

/* Applies the tokens and the log level of @config. All other keys need a restart. A failure is
 * logged, and the current tokens stay. */
void symbolizer_reload(struct symbolizer *symbolizer, const struct symbolizer_config *config);

/* Loads the tokens file if it has changed since it was last loaded. Logs like
 * symbolizer_reload(). To be called every few seconds by the thread that calls
 * symbolizer_reload(). */
void symbolizer_check_tokens(struct symbolizer *symbolizer);

/* Removes samples that are beyond the retention by age or by size. A failure is logged. To be
 * called about once a minute. */
void symbolizer_prune(struct symbolizer *symbolizer);

/* Raises the limit of open files of this process as far as it is allowed. */
void symbolizer_raise_file_limit(void);

/* Returns the port of the first address. */
unsigned int symbolizer_port(const struct symbolizer *symbolizer);

#include "common/scoped.h"
DEFINE_SCOPED(struct symbolizer *, symbolizer_free);
