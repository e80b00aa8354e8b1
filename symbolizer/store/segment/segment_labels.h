/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The names of the labels of processes and series, without those of hosts. */

#include "symbolizer/store/segment/segment_builder.h"

/* A name may be passed several times. A result < 0 ends the walk with it. */
typedef int (*segment_label_function)(void *arg, struct bytes_view name);

/* @segment has all tables. 0, -ENOMEM, or the result of the function. */
int segment_label_names(const struct segment *segment, segment_label_function function, void *arg);

/* The same for a segment that is not finished. */
int segment_builder_label_names(const struct segment_builder *builder,
				segment_label_function function, void *arg);
