/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Calls @function at the end of a chain of 25 frames, and returns its result. */
typedef int (*chain_function)(void *arg);

int chain_without_frame_pointers(chain_function function, void *arg);
int chain_with_frame_pointers(chain_function function, void *arg);
