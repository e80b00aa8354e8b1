/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What engines with a data folder log of their work. */

#include <stddef.h>

/*
 * The result of a batch, or a negative errno. A full disk fails each batch of each agent, so only
 * the first failure and the first success after failures are logged; *last_error is between them.
 */
void folder_log_stored(int *last_error, int result, const char *folder);

/* The days that retention has removed. */
void folder_log_removed(size_t n_by_age, size_t n_by_size);
