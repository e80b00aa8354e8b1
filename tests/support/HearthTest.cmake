# SPDX-License-Identifier: Apache-2.0
#
# hearth_unit_test(<name> [SOURCES <file>...] [LIBS <library>...])
#
# A cmocka program made of SOURCES (default: <name>.c), which ctest runs under its path: test_bytes
# in unit/common becomes unit/common/test_bytes, and the target unit_common_test_bytes. <name> may
# have a folder: elf/test_elf_file.
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# Uses mold or gold for these programs, because there are hundreds, and the default linker takes
# three times as long as gold for one. gold prints warnings about clang's AddressSanitizer. Programs
# with inspected frames (host_bpf, workloads) and the programs for users are linked with the
# compiler's default linker.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=mold HEARTH_HAS_MOLD)
check_linker_flag(C -fuse-ld=gold HEARTH_HAS_GOLD)
if(HEARTH_HAS_MOLD)
	set(HEARTH_TEST_LINKER mold)
elseif(HEARTH_HAS_GOLD)
	set(HEARTH_TEST_LINKER gold)
endif()

if(NOT TARGET unit_tests)
	add_custom_target(unit_tests)
endif()

function(hearth_unit_test name)
	cmake_parse_arguments(PARSE_ARGV 1 test "" "" "SOURCES;LIBS")
	if(NOT test_SOURCES)
		set(test_SOURCES ${name}.c)
	endif()

	cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR
		BASE_DIRECTORY ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.. OUTPUT_VARIABLE folder)
	string(REPLACE "/" "_" target "${folder}/${name}")
	cmake_path(GET name FILENAME output_name)
	cmake_path(GET name PARENT_PATH sub_folder)

	add_executable(${target} ${test_SOURCES})
	set_target_properties(${target} PROPERTIES
		OUTPUT_NAME ${output_name}
		RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/${folder}/${sub_folder})
	target_link_libraries(${target} PRIVATE ${test_LIBS} PkgConfig::CMOCKA)
	if(folder MATCHES "^unit/")
		# Compiling the tests takes longer than running them.
		target_compile_options(${target} PRIVATE -O0)
	endif()
	if(HEARTH_TEST_LINKER AND folder MATCHES "^unit/")
		target_link_options(${target} PRIVATE -fuse-ld=${HEARTH_TEST_LINKER})
	endif()
	add_dependencies(unit_tests ${target})
	add_test(NAME ${folder}/${name} COMMAND ${target})
	set_tests_properties(${folder}/${name} PROPERTIES TIMEOUT 120)
endfunction()
