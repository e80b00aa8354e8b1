/* SPDX-License-Identifier: Apache-2.0 */
/* A library whose one function takes all the time: it must appear as a frame of a library. */
#include "shares_lib.h"
#include "spin.h"

uint64_t library_work(uint64_t seed, uint64_t units)
{
	return spin(seed, units);
}
