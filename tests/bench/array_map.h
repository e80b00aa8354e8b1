/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What unwind rows cost in the shape that other profilers give them: one BPF array per executable,
 * one row per element, as many elements as the next power of two (OpenTelemetry's profiler keeps
 * such arrays in maps of maps by size).
 */

#include <stdint.h>

/*
 * Kernel memory of a real map of that shape for @n_rows rows of 4 bytes. 0: maps may not be made
 * (not root).
 */
uint64_t array_map_bytes(uint32_t n_rows);
