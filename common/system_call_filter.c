/* SPDX-License-Identifier: Apache-2.0 */
#include "common/system_call_filter.h"

#include <sys/prctl.h>

/*
 * Binary search over the calls, for kernels before 5.11, which do not remember what a filter always
 * allows.
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
	int r = 0;

	for (size_t i = 0; i < filter->n_conditions && r == 0; i++)
		if (filter->conditions[i].action != filter->default_action)
			r = add_condition(context, &filter->conditions[i]);
	for (size_t i = 0; i < filter->n_lists && r == 0; i++)
		if (filter->lists[i].action != filter->default_action)
			r = add_list(context, &filter->lists[i]);
	return r;
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
	 * The first keeps kernels before 5.16 from slowing the process down, against an attack that
	 * needs code of the attacker's choice. Neither attribute is there in every libseccomp.
	 */
	(void)seccomp_attr_set(context, SCMP_FLTATR_CTL_SSB, 1);
	(void)seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, OPTIMIZE_BY_TREE);
	r = add_all(context, filter);
	if (r == 0)
		r = seccomp_load(context);
	seccomp_release(context);
	return r < 0 ? r : 1;
}
