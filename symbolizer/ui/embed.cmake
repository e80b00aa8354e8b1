# SPDX-License-Identifier: Apache-2.0
#
# cmake -DGZIP=<program> -DHEADER=<ui_files.h> -DFILES=<paths> -P embed.cmake
#
# Writes <header> with the sizes and ETags of all files, and <name>.gz for each file in the same folder. gzip -n stores
# no name and time, so that equal files give equal bytes.

get_filename_component(folder ${HEADER} DIRECTORY)
set(text "/* Made by embed.cmake. */\n#pragma once\n")

foreach(path ${FILES})
	get_filename_component(name ${path} NAME)
	string(REPLACE "." "_" id ${name})

	execute_process(COMMAND ${GZIP} -9nc ${path} OUTPUT_FILE ${folder}/${name}.gz COMMAND_ERROR_IS_FATAL ANY)
	file(SIZE ${path} plain_size)
	file(SIZE ${folder}/${name}.gz gzip_size)
	file(SHA256 ${path} hash)
	string(SUBSTRING ${hash} 0 16 etag)

	string(APPEND text
		"\n#define UI_ETAG_${id}       \"\\\"${etag}\\\"\"\n"
		"#define UI_PLAIN_SIZE_${id} ${plain_size}\n"
		"#define UI_GZIP_SIZE_${id}  ${gzip_size}\n")
endforeach()

file(WRITE ${HEADER} "${text}")
