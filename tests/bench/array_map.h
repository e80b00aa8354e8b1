/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory of unwind rows in the data structure of other profilers: one BPF array per executable,
 * with one row per element, and the next power of two as number of elements. OpenTelemetry's
 * profiler keeps such arrays in maps of maps by size.
 */

#include <stdint.h>

/*
 * Returns the kernel memory of a real array map for @n_rows rows of 4 bytes. 0: this process may
 * not create maps (not root).
 */
uint64_t array_map_bytes(uint32_t n_rows);
