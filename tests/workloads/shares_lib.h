/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* Spins for @units of about 10 microseconds. The result depends on every step. */
uint64_t library_work(uint64_t seed, uint64_t units);
