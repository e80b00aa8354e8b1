/* SPDX-License-Identifier: Apache-2.0 */
#include "common/system_call_filter.h"

#include <sys/prctl.h>

/*
 * Makes the filter a binary search over the calls. Kernels before 5.11 run it for each call,
 * because they do not cache which calls it always allows.
 */
#define OPTIMIZE_BY_TREE 2

static int add_list(scmp_filter_ctx context, const struct system_call_list *list)
{
	for (size_t i = 0; i < list->n_calls; i++) {
		int r = seccomp_rule_add(context, list->action, list->calls[i], 0);

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_condition(scmp_filter_ctx context, const struct system_call_condition *row)
{
	return seccomp_rule_add_array(context, row->action, row->call, 1, &row->condition);
}

static int add_all(scmp_filter_ctx context, const struct system_call_filter *filter)
{
	int r;

	for (size_t i = 0; i < filter->n_conditions; i++) {
		if (filter->conditions[i].action == filter->default_action)
			continue;
		r = add_condition(context, &filter->conditions[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < filter->n_lists; i++) {
		if (filter->lists[i].action == filter->default_action)
			continue;
		r = add_list(context, &filter->lists[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int system_call_filter_load(const struct system_call_filter *filter)
{
	scmp_filter_ctx context;
	int r;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0 && errno == EINVAL)
		return 0;
	context = seccomp_init(filter->default_action);
	if (!context)
		return -ENOMEM;
	/*
	 * CTL_SSB: kernels before 5.16 otherwise enable a slow mitigation against an attack that
	 * needs code of the attacker in the process. Old versions of libseccomp lack these
	 * attributes, so errors are ignored.
	 */
	(void)seccomp_attr_set(context, SCMP_FLTATR_CTL_SSB, 1);
	(void)seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, OPTIMIZE_BY_TREE);
	r = add_all(context, filter);
	if (r == 0)
		r = seccomp_load(context);
	seccomp_release(context);
	return r < 0 ? r : 1;
}
