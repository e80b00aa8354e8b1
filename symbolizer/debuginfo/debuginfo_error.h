/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Error messages for the client that sends a file. A message is at most DEBUGINFO_MESSAGE_SIZE
 * bytes, with the NUL.
 */

#include "common/base.h"
#include "symbolizer/debuginfo/debuginfo_store.h"

/* Formats the message and returns @error. */
printf_like(3, 4) int debuginfo_fail(char *message, int error, const char *format, ...);

/* The message is "@attempt: " and the text for the negative errno @error, which it returns. */
int debuginfo_fail_errno(char *message, int error, const char *attempt);
