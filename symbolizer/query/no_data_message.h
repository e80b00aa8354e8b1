/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why an answer is empty, for the person who asked: the most specific thing that is missing.
 */

#include "symbolizer/query/selection.h"

/* 0 with the message; a shorter one when the store fails meanwhile. */
int no_data_message(struct store *store, const struct profile_request *request,
		    const struct selection *selection, struct arena *arena,
		    char ret_message[PROFILE_MESSAGE_SIZE]);
