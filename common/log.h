/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes one line per event to stderr: the level and the message. If stderr is the journal
 * (JOURNAL_STREAM is set), the level is written as the prefix "<N>", in which N is the syslog
 * priority (sd-daemon(3)).
 *
 * A message names the object (in single quotes), the attempt, the cause and the consequence, in
 * lower case and without a full stop. %m in the format prints the error passed to the _errno
 * variants. Thread-safe.
 */

#include <stdbool.h>

#include "common/base.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/* "error", "warn", "info", "debug". Returns false for other texts. */
bool log_level_from_name(const char *name, enum log_level *ret_level);

void log_write(enum log_level level, const char *format, ...) printf_like(2, 3);

/*
 * @error is a positive or negative errno, which %m prints. Returns -abs(@error), so that a caller
 * can write: return log_error_errno(r, ...).
 */
int log_write_errno(enum log_level level, int error, const char *format, ...) printf_like(3, 4);

#define log_error(...)              log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)               log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)               log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)              log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_error_errno(error, ...) log_write_errno(LOG_LEVEL_ERROR, error, __VA_ARGS__)
#define log_warn_errno(error, ...)  log_write_errno(LOG_LEVEL_WARN, error, __VA_ARGS__)
#define log_info_errno(error, ...)  log_write_errno(LOG_LEVEL_INFO, error, __VA_ARGS__)
#define log_debug_errno(error, ...) log_write_errno(LOG_LEVEL_DEBUG, error, __VA_ARGS__)
