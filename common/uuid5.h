/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common/base.h"

#define UUID_TEXT_SIZE 37 /* 36 characters and NUL */

/*
 * UUIDv5 (RFC 4122 §4.3, SHA-1) of @name in the OID namespace 6ba7b812-9dad-11d1-80b4-00c04fd430c8,
 * lower case.
 */
void uuid5_oid(const char *name, size_t length, char ret_text[UUID_TEXT_SIZE]);
