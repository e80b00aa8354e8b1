/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/sample/window.h"
#include "common/arena.h"

/* Creates a window that an agent could close, determined by @seed. Lives in @arena. */
void random_window(uint64_t seed, struct arena *arena, struct window *ret_window);
