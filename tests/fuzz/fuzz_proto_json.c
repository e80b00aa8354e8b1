/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz-libs: symbolizer_api symbolizer_import */

#include "common/limits.h"
#include "common/scoped.h"
#include "proto/otlp.pb-c.h"
#include "symbolizer/api/proto_json.h"

/* A message that is packed can be unpacked. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped(bytes_release) struct bytes packed = BYTES_INIT(MIB);
	char reason[PROTO_JSON_REASON_SIZE] = "";
	Otlp__Request *message;
	int r = proto_json_pack((struct bytes_view){ data, size }, &otlp__request__descriptor,
				&packed, reason);

	if (r == -EBADMSG)
		assert(reason[0] != '\0');
	if (r < 0)
		return 0;
	message = otlp__request__unpack(NULL, packed.size, packed.data);
	assert(message);
	otlp__request__free_unpacked(message, NULL);
	return 0;
}
