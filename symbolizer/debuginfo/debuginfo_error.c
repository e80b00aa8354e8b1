/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/debuginfo/debuginfo_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int debuginfo_fail(char *message, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, DEBUGINFO_MESSAGE_SIZE, format, args);
	va_end(args);
	return error;
}

int debuginfo_fail_errno(char *message, int error, const char *attempt)
{
	char text[128];

	return debuginfo_fail(message, error, "%s: %s", attempt,
			      strerror_r(-error, text, sizeof(text)));
}
