/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sentences about the losses of an answer, for its message. Small losses have none. */

#include "symbolizer/query/profile.h"

/*
 * Appends a sentence for each kind of loss that exceeds its threshold on a host: with the host that
 * lost most, the share, the time, and the number of further hosts. hosts[losses->n_hosts]. Losses
 * of samples that @request does not select have no sentence.
 */
void loss_message_append(char message[PROFILE_MESSAGE_SIZE], const struct profile_request *request,
			 const struct host_losses *hosts, const struct losses *losses);

/* Appends the share of the value with stacks that were cut, and the reason of most. */
void loss_message_append_cut(char message[PROFILE_MESSAGE_SIZE], const struct profile_stats *stats);
