/* SPDX-License-Identifier: Apache-2.0 */
/* A library with one function that takes all the time. It must appear as a frame of a library. */
#include "shares_lib.h"
#include "spin.h"

uint64_t library_work(uint64_t seed, uint64_t units)
{
	return spin(seed, units);
}
