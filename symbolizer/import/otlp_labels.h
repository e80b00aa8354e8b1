/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Attributes of OTLP's resources and samples, as labels of processes and series. */

#include "common/id_map.h"
#include "symbolizer/import/import_private.h"
#include "symbolizer/import/otlp_request.h"

struct otlp_labels {
	struct foreign_profile *profile; /* that gets the labels */
	const struct otlp_tables *tables;
	const struct otlp_resource *resource;
	uint32_t stamp; /* of the profile and the tables. Items with another one are invalid */
	struct otlp_cached_attribute *attributes; /* [n_attributes] */
	struct foreign_label_vec of_resource;     /* by OTLP's names */
	struct foreign_label_vec of_process;      /* the same, with those of a sample */
	struct foreign_label_vec of_sample;       /* those of the sample, by OTLP's names */
	struct foreign_label_vec of_series;
	struct id_map processes; /* hash of of_sample -> number */
};

void otlp_labels_release(struct otlp_labels *labels);

/* Has to be called before the labels of another profile, tables or resource are made. */
int otlp_labels_begin(struct otlp_labels *labels, struct foreign_profile *profile,
		      const struct otlp_tables *tables, const struct otlp_resource *resource);

/*
 * Reads the attributes of sample @index: sets the process, tid and thread_name of @series, and
 * labels->of_series.
 */
int otlp_labels_of_sample(struct otlp_labels *labels, const struct otlp_sample *sample,
			  size_t index, struct foreign_series *series);

/* The service and the host of a resource, by its attributes. Texts are in the profile. */
struct import_sender otlp_sender_of(const struct otlp_labels *labels);
