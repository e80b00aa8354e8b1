/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The distance of a misspelt name from a known name, for "did you mean". */

#include "common/base.h"

/* Compares at most this many bytes. Most names have at most 15 characters. */
#define DID_YOU_MEAN_MAX_BYTES 64

/*
 * The number of letters to insert, remove or replace in the first DID_YOU_MEAN_MAX_BYTES, ignoring
 * case. If one name contains the other: 0 for equal lengths, else 1.
 */
unsigned int name_distance(const char *a, const char *b);
