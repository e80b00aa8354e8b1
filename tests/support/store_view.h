/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Opens views of a store. */

#include "symbolizer/store/store.h"
#include "tests/support/unit.h"

/* The caller closes the view. */
static inline struct store_view *open_view(struct store *store, const char *tenant)
{
	struct store_view *view = NULL;

	assert_ok(store_view_open(store, &(struct store_view_options){ .tenant = tenant }, &view));
	return view;
}
