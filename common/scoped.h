/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Frees or closes a variable at the end of its scope, by the GNU attribute cleanup.
 *
 *   scoped(stack_table_freep) struct stack_table *table = NULL;
 *   scoped_fd int fd = open(...);
 *   *ret_table = take_ptr(table);          -- transfers ownership; the scope no longer frees it
 *
 * Every x_free() accepts NULL and returns NULL. DEFINE_SCOPED() defines x_freep(), which calls
 * x_free() on the variable.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define scoped(function) __attribute__((cleanup(function)))

#define DEFINE_SCOPED(type, free_function)                                                         \
	static inline void free_function##p(type *object)                                          \
	{                                                                                          \
		if (*object)                                                                       \
			(void)free_function(*object);                                              \
	}                                                                                          \
	struct scoped_needs_a_semicolon_

#define take_ptr(ptr)                                                                              \
	({                                                                                         \
		__typeof__(ptr) taken_ = (ptr);                                                    \
		(ptr) = NULL;                                                                      \
		taken_;                                                                            \
	})

#define take_fd(fd)                                                                                \
	({                                                                                         \
		int taken_fd_ = (fd);                                                              \
		(fd) = -1;                                                                         \
		taken_fd_;                                                                         \
	})

static inline void scoped_close(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static inline void scoped_freep(void *ptr)
{
	free(*(void **)ptr);
}

static inline void scoped_fclose(FILE **file)
{
	if (*file)
		(void)fclose(*file);
}

#define scoped_fd   scoped(scoped_close)
#define scoped_free scoped(scoped_freep)
#define scoped_file scoped(scoped_fclose)
