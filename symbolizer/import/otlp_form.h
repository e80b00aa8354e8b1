/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The versions of OTLP's profiles that are in use. They have one path and one package name, and a
 * request does not name its version. It is found by the numbers and the wire types of the fields,
 * because the same number is another field in another version.
 */

#include "symbolizer/import/foreign_profile.h"

enum otlp_form {
	OTLP_TABLES_IN_PROFILES, /* 1.4 and 1.5: each profile has tables */
	OTLP_RANGES,             /* 1.7: a dictionary; a stack is a range of a list */
	OTLP_VALUES_FIRST, /* 1.8 and 1.9: a dictionary with stacks; samples have the numbers */
			   /* values 2, attribute_indices 3, link_index 4 */
	OTLP_CURRENT,      /* since 1.10: attribute_indices 2, link_index 3, values 4 */
};

/*
 * Finds the form of a request. A request that fits two forms has the later one. 0, or -EBADMSG with
 * a reason that names the field which no form has.
 */
int otlp_form_find(struct foreign_profile *profile, struct bytes_view body,
		   enum otlp_form *ret_form);

/*
 * Converts a request of OTLP_VALUES_FIRST to OTLP_CURRENT: changes the numbers of the fields of all
 * samples in @body, which is well-formed as far as otlp_form_find() has read it.
 */
void otlp_form_renumber(struct bytes *body);
