/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Opens the storage engine that the configuration selects. */

#include "common/clock.h"
#include "symbolizer/config.h"
#include "symbolizer/store/store.h"

#define OPEN_STORE_MESSAGE_SIZE 1536

/* The data folder exists. An error has a message unless it concerns this folder. */
int open_store(const struct symbolizer_config *config, const struct clock *clock,
	       struct store **ret_store, char ret_message[OPEN_STORE_MESSAGE_SIZE]);
