/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One upload. Its bytes are appended to a temporary file, and debuginfo_publish() checks and stores
 * the file.
 */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/file.h"
#include "common/log.h"
#include "symbolizer/debuginfo/debuginfo_inspect.h"
#include "symbolizer/debuginfo/debuginfo_private.h"
#include "symbolizer/debuginfo/debuginfo_publish.h"

struct debuginfo_upload {
	struct debuginfo_arrival arrival;
	struct debuginfo_store *store;
	char *path; /* of the temporary file */
	char source_path[DEBUGINFO_MAX_PATH];
};

int debuginfo_upload_begin(struct debuginfo_store *store, const struct executable_id *id,
			   enum debuginfo_origin origin, struct debuginfo_upload **ret_upload,
			   char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	scoped(debuginfo_upload_freep) struct debuginfo_upload *upload = calloc(1, sizeof(*upload));
	scoped_free char *path = NULL;

	ret_message[0] = '\0';
	if (!upload)
		return debuginfo_fail_errno(ret_message, -ENOMEM, "cannot begin the upload");
	upload->store = store;
	upload->arrival = (struct debuginfo_arrival){
		.id = *id,
		.origin = origin,
		.source_path = "",
		.fd = -1,
	};
	if (id->kind == EXECUTABLE_ID_NONE)
		return debuginfo_fail(ret_message, -EBADMSG, "an upload needs a build-ID");
	if (asprintf(&path, "%s/" UPLOAD_PREFIX "XXXXXX", store->folder) < 0)
		return debuginfo_fail_errno(ret_message, -ENOMEM, "cannot begin the upload");
	upload->arrival.fd = mkostemp(path, O_CLOEXEC);
	if (upload->arrival.fd < 0)
		return debuginfo_fail_errno(ret_message, -errno,
					    "cannot make a temporary file in the data folder");
	upload->path = take_ptr(path);
	*ret_upload = take_ptr(upload);
	return 0;
}

int debuginfo_upload_as_source(struct debuginfo_upload *upload, const char *path,
			       char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	if (debuginfo_canonical_path(path, upload->source_path) < 0)
		return debuginfo_fail(ret_message, -EINVAL,
				      "the path of a source file has 1 to %d bytes",
				      DEBUGINFO_MAX_PATH - 2);
	upload->arrival.source_path = upload->source_path;
	return 0;
}

struct debuginfo_upload *debuginfo_upload_free(struct debuginfo_upload *upload)
{
	if (!upload)
		return NULL;
	if (upload->path)
		(void)unlink(upload->path);
	scoped_close(&upload->arrival.fd);
	free(upload->path);
	free(upload);
	return NULL;
}

int debuginfo_upload_append(struct debuginfo_upload *upload, struct bytes_view data,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	struct debuginfo_arrival *arrival = &upload->arrival;
	uint64_t limit = debuginfo_arrival_limit(arrival);
	int r;

	if (data.size > limit - arrival->size)
		return debuginfo_fail(ret_message, -EFBIG, "the file has more than %llu MiB",
				      (unsigned long long)(limit / MIB));
	r = debuginfo_check_first_bytes(arrival->source_path, arrival->size, data, ret_message);
	if (r < 0) {
		debuginfo_refused(upload->store, &arrival->id);
		return r;
	}
	r = debuginfo_check_room(upload->store, data.size, ret_message);
	if (r < 0)
		return r;
	r = write_all(arrival->fd, data.data, data.size);
	if (r < 0)
		return debuginfo_fail_errno(ret_message, r,
					    "cannot keep the upload in the data folder");
	arrival->size += data.size;
	return 0;
}

int debuginfo_upload_commit(struct debuginfo_upload *upload, struct debuginfo_entry *ret_entry,
			    char ret_message[DEBUGINFO_MESSAGE_SIZE])
{
	return debuginfo_publish(upload->store, &upload->arrival, ret_entry, ret_message);
}
