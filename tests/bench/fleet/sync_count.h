/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file that the library sync_count writes. */

#include <stdatomic.h>
#include <stdint.h>

struct sync_count {
	_Atomic uint64_t n_calls;
	_Atomic uint64_t time_ns;
};
