/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Waits for what another thread or process does. */

#include <stdbool.h>
#include <unistd.h>

/* Long enough for a machine that runs other tests. */
#define PATIENCE_S 60

/* Fails the test if @condition does not become true. It may be evaluated many times. */
#define wait_until(condition)                                                                      \
	do {                                                                                       \
		unsigned int wait_left_ms_ = PATIENCE_S * 1000;                                    \
		bool wait_met_;                                                                    \
		while (!(wait_met_ = (condition)) && wait_left_ms_-- > 0)                          \
			(void)usleep(1000);                                                        \
		if (!wait_met_)                                                                    \
			fail_msg("never true: %s", #condition);                                    \
	} while (0)
