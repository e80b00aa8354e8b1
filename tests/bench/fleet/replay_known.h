/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Part of replay.c: makes of a batch of the first lap what the agent sends in a later lap of the
 * same epoch. Arrays that change are copied to @scratch. 0 or -ENOMEM.
 */

#include "tests/bench/fleet/capture.h"

int replay_drop_known(const struct capture *capture, Hearth__V1__Batch *message,
		      struct arena *scratch);
