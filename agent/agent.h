/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The agent: owns all its parts, and runs an event loop in one thread. The loop waits for the ring
 * buffer of samples, the rings of process events, changes of CPUs, answers of helpers, events of
 * the sender's thread, signals, and a timeout.
 */

#include "agent/config.h"

struct agent;
struct nursery;

/*
 * Starts sampling. Logs failures, one line each. @config is borrowed until agent_set_config() or
 * agent_free(), @nursery until agent_free().
 */
int agent_new(const struct agent_config *config, struct nursery *nursery, struct agent **ret_agent);
struct agent *agent_free(struct agent *agent);

/*
 * Runs until SIGTERM or SIGINT. On SIGHUP calls @reload, which may call agent_set_config(). 0 or
 * negative errno (logged).
 */
int agent_run(struct agent *agent, void (*reload)(void *arg, struct agent *agent), void *arg);

/*
 * Takes over the options that can change while the agent runs, such as rules and the interval of
 * batches. Logs that changes of others need a restart. 0 or negative errno (logged).
 */
int agent_set_config(struct agent *agent, const struct agent_config *config);

#include "common/scoped.h"
DEFINE_SCOPED(struct agent *, agent_free);
