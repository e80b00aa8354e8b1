/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/data_folder/folder_log.h"

#include "common/base.h"
#include "common/log.h"

void folder_log_stored(int *last_error, int result, const char *folder)
{
	const int error = MIN(result, 0);

	if (error == *last_error)
		return;
	if (error < 0)
		log_error_errno(error,
				"cannot store batches in '%s', agents keep and resend them: %m",
				folder);
	else
		log_info("storing batches in '%s' again", folder);
	*last_error = error;
}

void folder_log_removed(size_t n_by_age, size_t n_by_size)
{
	if (n_by_age > 0)
		log_info("removed the samples of %zu days, which are beyond retention", n_by_age);
	if (n_by_size > 0)
		log_info("removed the samples of %zu days, which are beyond retention_size",
			 n_by_size);
}
