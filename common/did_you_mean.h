/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* "Did you mean": how far a misspelt name is from a known one. */

#include "common/base.h"

/* What is compared at most; names are 15 characters in most cases. */
#define DID_YOU_MEAN_MAX_BYTES 64

/*
 * Letters to insert, remove or replace, without regard to case, over the first
 * DID_YOU_MEAN_MAX_BYTES; 0 or 1 when one name holds the other.
 */
unsigned int name_distance(const char *a, const char *b);
