/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/executable_id.h"

/*
 * The identity that the text of a build-ID gives: hex digits of a GNU build-ID, a Go build-ID
 * ("a/b/c/d"), or the text that executable_id_format() writes. Another text gives none.
 */
struct executable_id build_id_of_text(const char *text);

/*
 * The identity that 32 hex digits of an htlhash give. Another text gives none, and neither do equal
 * bytes, which mean that the code has no file.
 */
struct executable_id htlhash_of_text(const char *text);
