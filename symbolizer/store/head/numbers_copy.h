/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Copies definitions of a batch, with all that they refer to, into an arena. Returns 0 or -ENOSPC.
 */

#include "common/arena.h"
#include "symbolizer/store/batch.h"

int copy_host(struct arena *arena, const struct batch_host *from, struct batch_host *ret_to);
int copy_executable(struct arena *arena, const struct batch_executable *from,
		    struct batch_executable *ret_to);
/* Whether all that segments have of the definitions is equal. */
bool equal_executables(const struct batch_executable *a, const struct batch_executable *b);
bool equal_code_objects(const struct batch_code_object *a, const struct batch_code_object *b);

int copy_code_object(struct arena *arena, const struct batch_code_object *from,
		     struct batch_code_object *ret_to);
int copy_process(struct arena *arena, const struct batch_process *from,
		 struct batch_process *ret_to);
int copy_series(struct arena *arena, const struct batch_series *from, struct batch_series *ret_to);
