/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers as people read them: "1.25 s", "3.40 MiB", "12.3 %". Three digits are enough everywhere,
 * because --json prints the exact numbers.
 */

#include "common/base.h"
#include "common/event_type.h"

#define NUMBER_TEXT_SIZE 24

/* @value is in the unit of @type: microseconds or bytes. */
void format_value(enum event_type type, uint64_t value, char ret_text[NUMBER_TEXT_SIZE]);
void format_bytes(uint64_t bytes, char ret_text[NUMBER_TEXT_SIZE]);

/* "12.3 %"; "0.0 %" when @whole is 0. */
void format_share(uint64_t part, uint64_t whole, char ret_text[NUMBER_TEXT_SIZE]);

/* "just now", "12 s ago", "3 h ago", "5 d ago". */
void format_age(uint64_t seconds, char ret_text[NUMBER_TEXT_SIZE]);
