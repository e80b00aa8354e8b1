/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The message of an answer: why it is empty, or which parts of it are missing. */

#include "symbolizer/query/selection.h"

/*
 * Writes why an answer is empty. The message names the most specific reason: the filter selects
 * nothing, the service is unknown, the service has no samples of this type or none in the range.
 * Always returns 0; the message is shorter if the store fails.
 */
int no_data_message(struct store_view *view, const struct profile_request *request,
		    const struct selection *selection, struct arena *arena,
		    char ret_message[PROFILE_MESSAGE_SIZE]);

/* Appends a part, after "; " if the message is not empty. */
void profile_message_append(char message[PROFILE_MESSAGE_SIZE], const char *format, ...)
	printf_like(2, 3);

/* Appends the number of damaged blocks, if it is not 0. */
void profile_message_append_damaged(char message[PROFILE_MESSAGE_SIZE], uint64_t n_damaged_blocks);

/* Appends which whole hours the sums cover, if they are of a wider range than the request. */
void profile_message_append_wider(char message[PROFILE_MESSAGE_SIZE], const struct store_sums *sums,
				  const struct profile_request *request);

/* Appends that retention has removed samples of the range, if it has, and by which limit. */
void profile_message_append_removed(char message[PROFILE_MESSAGE_SIZE], struct store_view *view,
				    const struct profile_request *request);

#define PROFILE_TIME_TEXT_SIZE sizeof("2024-02-21T03:12:00Z")

/* Writes the time of a slot, and returns @ret_text. */
const char *profile_message_time(uint64_t slot, char ret_text[PROFILE_TIME_TEXT_SIZE]);

/* Appends the share of the value that was sampled at a lower frequency, and the hosts of @series
 * that sample less now. */
void profile_message_append_reduced(char message[PROFILE_MESSAGE_SIZE],
				    const struct profile_stats *stats,
				    const struct store_series *series, size_t n_series);
