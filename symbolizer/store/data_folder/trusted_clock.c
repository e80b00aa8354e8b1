/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolizer/store/data_folder/trusted_clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/bytes.h"
#include "common/file.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/scoped.h"

/* Checks are an hour apart, and a server may be off for the rest of a day. */
#define MAX_STEP_NS (UINT64_C(24 * 3600) * NSEC_PER_SEC)

/* Time for an administrator to notice the message and to set the clock. */
#define DOUBT_NS (UINT64_C(24 * 3600) * NSEC_PER_SEC)

#define MAX_FILE_BYTES 64

static char *path_of(const char *folder)
{
	char *path;

	return asprintf(&path, "%s/" TRUSTED_CLOCK_FILE, folder) < 0 ? NULL : path;
}

void trusted_clock_load(struct trusted_clock *trusted, const char *folder)
{
	scoped(bytes_release) struct bytes text = BYTES_INIT(MAX_FILE_BYTES);
	scoped_free char *path = path_of(folder);
	uint64_t wall_s, doubted_s;

	if (!path || file_read(path, &text) < 0 || bytes_append_byte(&text, 0) < 0)
		return;
	if (sscanf((const char *)text.data, "%" SCNu64 " %" SCNu64, &wall_s, &doubted_s) != 2 ||
	    wall_s > UINT64_MAX / NSEC_PER_SEC || doubted_s > UINT64_MAX / NSEC_PER_SEC)
		return;
	trusted->wall_ns = wall_s * NSEC_PER_SEC;
	trusted->doubted_ns = doubted_s * NSEC_PER_SEC;
}

/* Without the file, which a full disk may prevent, the next start knows an older time. */
static void save(const struct trusted_clock *trusted, const char *folder)
{
	scoped_free char *path = path_of(folder);
	char text[MAX_FILE_BYTES];
	int length;

	if (!path)
		return;
	length = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\n",
			  trusted->wall_ns / NSEC_PER_SEC, trusted->doubted_ns / NSEC_PER_SEC);
	(void)file_replace(path, text, (size_t)length, 0640);
}

static bool is_in_doubt(const struct trusted_clock *trusted, uint64_t now_ns)
{
	return trusted->wall_ns != 0 && now_ns > trusted->wall_ns + MAX_STEP_NS;
}

uint64_t trusted_clock_now(const struct trusted_clock *trusted, const struct clock *clock)
{
	uint64_t now_ns = clock_wall_ns(clock);

	return is_in_doubt(trusted, now_ns) ? trusted->wall_ns : now_ns;
}

static void log_doubt(struct trusted_clock *trusted, uint64_t now_ns, const char *folder)
{
	if (!trusted->is_logged)
		log_warn("the clock of this server is %" PRIu64
			 " s ahead of the last time stored in '%s/" TRUSTED_CLOCK_FILE
			 "': samples that would be too old now are kept until agents have sent "
			 "batches of this time for 24 hours; set the clock if it is wrong",
			 (now_ns - trusted->wall_ns) / NSEC_PER_SEC, folder);
	trusted->is_logged = true;
}

static void log_step_back(const struct trusted_clock *trusted, uint64_t now_ns)
{
	if (trusted->wall_ns > now_ns + MAX_STEP_NS)
		log_warn("the clock of this server is %" PRIu64
			 " s behind the time of its last check: set the clock if it is wrong",
			 (trusted->wall_ns - now_ns) / NSEC_PER_SEC);
}

void trusted_clock_check(struct trusted_clock *trusted, const struct clock *clock,
			 const char *folder)
{
	uint64_t now_ns = clock_wall_ns(clock);
	uint64_t monotonic_ns = clock_monotonic_ns(clock);
	uint64_t elapsed_ns = trusted->checked_ns && monotonic_ns > trusted->checked_ns
				      ? monotonic_ns - trusted->checked_ns
				      : 0;
	bool doubted = is_in_doubt(trusted, now_ns);

	trusted->checked_ns = monotonic_ns;
	if (doubted) {
		log_doubt(trusted, now_ns, folder);
		/* Batches of agents that the server has accepted confirm its clock. */
		if (trusted->batch_ns + MAX_STEP_NS >= now_ns)
			trusted->doubted_ns += MIN(elapsed_ns, 2 * 3600 * NSEC_PER_SEC);
	}
	if (!doubted || trusted->doubted_ns >= DOUBT_NS) {
		log_step_back(trusted, now_ns);
		trusted->wall_ns = now_ns;
		trusted->doubted_ns = 0;
		trusted->is_logged = false;
	}
	save(trusted, folder);
}
