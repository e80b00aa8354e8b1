/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent: owns every part, in one thread, and one event loop over
 *
 *   ring buffer of samples, rings of process events, a timer, answers of the sender thread, signals.
 */

#include "agent/config.h"

struct agent;
struct nursery;

/*
 * Loads, attaches, reads /proc. What failed was logged. @config is borrowed until
 * agent_set_config() or the end, @nursery until the end.
 */
int agent_new(const struct agent_config *config, struct nursery *nursery, struct agent **ret_agent);
struct agent *agent_free(struct agent *agent);

/*
 * Runs until SIGTERM or SIGINT. On SIGHUP calls @reload, which may call agent_set_config(). 0 or
 * negative errno.
 */
int agent_run(struct agent *agent, void (*reload)(void *arg, struct agent *agent), void *arg);

/*
 * Takes over what can change while running: rules, batch interval, log level. The rest is told to
 * need a restart.
 */
int agent_set_config(struct agent *agent, const struct agent_config *config);

#include "common/scoped.h"
DEFINE_SCOPED(struct agent *, agent_free);
