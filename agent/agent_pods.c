/* SPDX-License-Identifier: Apache-2.0 */
/* Labels processes with the names and labels of their Pods (agent/kubernetes). */
#include "agent/agent_internal.h"

static void find_pod(void *arg, const char *uid, pod_label_fn *label, void *label_arg)
{
	struct agent *agent = arg;

	pod_watch_find(agent->pods, uid, label, label_arg);
}

int agent_start_pods(struct agent *agent)
{
	const struct agent_config *config = agent->config;
	int r;

	if (!config->pods_folder[0] && !config->pods_url[0])
		return 0;
	r = pod_watch_new(
		&(struct pod_watch_options){
			POD_WATCH_DEFAULTS,
			.folder = config->pods_folder,
			.url = config->pods_url,
			.token_file = config->pods_token_file,
			.ca_file = config->pods_ca_file,
			.insecure_tls = config->pods_insecure_tls,
			.keep_capabilities = config->privileges_keep,
		},
		&agent->pods);
	if (r < 0)
		return agent_log_not_made(r, "the thread that reads lists of Pods");
	process_table_set_pods(agent->processes,
			       &(struct process_pods){ .arg = agent, .find = find_pod });
	return 0;
}

int agent_follow_pods(struct agent *agent)
{
	uint64_t generation = agent->pods ? pod_watch_generation(agent->pods) : 0;

	if (generation == agent->pods_generation)
		return 0;
	agent->pods_generation = generation;
	return process_table_find_pods_again(agent->processes);
}

void agent_update_pod_metrics(struct agent *agent)
{
	struct pod_watch_stats stats = {};

	if (agent->pods)
		pod_watch_stats(agent->pods, &stats);
	metric_set(agent->metrics, AGENT_METRIC_PODS, stats.pods);
	metric_set(agent->metrics, AGENT_METRIC_POD_LISTS, stats.read);
	metric_set(agent->metrics, AGENT_METRIC_POD_LISTS_FAILED, stats.failed);
}
