/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Expands and unpacks protobuf messages of other profilers. */

#include <protobuf-c/protobuf-c.h>

#include "symbolizer/import/foreign_profile.h"

/*
 * Unpacks @data into the profile's arena. @what names it in the reason of a failure. Returns 0,
 * -EBADMSG or -EFBIG.
 */
int foreign_unpack(struct foreign_profile *profile, const ProtobufCMessageDescriptor *descriptor,
		   struct bytes_view data, const char *what, void *ret_message);

/*
 * Expands @data if it is gzip, as in a file. *ret_data is in @plain, whose ceiling is
 * IMPORT_MAX_PLAIN_BYTES, or is @data.
 */
int foreign_expand(struct foreign_profile *profile, struct bytes_view data, struct bytes *plain,
		   struct bytes_view *ret_data);
