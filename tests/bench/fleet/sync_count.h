/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The file to which the preloaded library sync_count.c writes: number and total duration of the
 * calls of fsync() and fdatasync().
 */

#include <stdatomic.h>
#include <stdint.h>

struct sync_count {
	_Atomic uint64_t n_calls;
	_Atomic uint64_t time_ns;
};
