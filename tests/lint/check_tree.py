#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks rules that the compiler does not check: allowed includes, licences, banned functions, that
headers compile alone, that every module of common/ has a test, that every X-Hearth-* header is
documented, that no mutable object has file scope, and that the tree contains only files of the
project.

    check_tree.py [--root DIR] [--build DIR] [--sizes]

Prints one line per finding, `path:line: fault`, and exits with 1 if there is any. --build names a
build folder, which has the generated headers and the libraries that are searched for mutable
globals. Without it those two checks are skipped, and a note reports that. --sizes lists the longest
files and functions; sizes are no error.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys

TOP_LEVEL = {
    "agent", "symbolizer", "proto", "common", "bpf", "deploy", "tests", "docs",
    "CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE",
}

# The folders, or single headers, that each folder may include. The longest key that is a prefix of
# a file's folder decides. A folder may always include itself. A folder without a key is an error: a
# new folder needs a decision.
MAY_INCLUDE = {
    "common": [],
    "proto": ["common"],
    "bpf/abi": [],
    "bpf": ["bpf", "common/frame.h", "common/event_type.h"],

    "agent": ["agent", "common", "proto", "bpf"],
    "agent/executable": ["common", "bpf/abi"],
    "agent/process": ["agent/executable", "common", "bpf/abi"],
    "agent/unwind": ["agent/unwind", "common", "bpf/abi"],
    "agent/unwind/file": ["common"],
    "agent/unwind/cfi": ["agent/unwind/file", "common"],
    "agent/unwind/table": ["agent/unwind/cfi", "common", "bpf/abi"],
    "agent/unwind/go": ["agent/unwind/table", "agent/unwind/file", "common"],
    "agent/unwind/x86_code": ["agent/unwind/table", "agent/unwind/cfi", "agent/unwind/file", "common", "bpf/abi"],
    "agent/paging": ["agent/unwind/table", "common", "bpf/abi"],
    # Reads what runtimes keep in files and in the memory of processes; helpers run it.
    "agent/interpreter/runtime": ["common"],
    "agent/interpreter/python": ["agent/executable", "agent/interpreter/runtime", "agent/unwind", "common", "bpf/abi"],
    "agent/interpreter/hotspot": ["agent/executable", "agent/interpreter/runtime", "common", "bpf/abi"],
    "agent/interpreter/v8": ["agent/executable", "agent/interpreter/runtime", "common", "bpf/abi"],
    "agent/interpreter/php": ["agent/executable", "agent/interpreter/python", "agent/interpreter/runtime", "common", "bpf/abi"],
    "agent/interpreter/ruby": ["agent/executable", "agent/interpreter/python", "agent/interpreter/runtime", "agent/unwind", "common", "bpf/abi"],
    "agent/interpreter/perl": ["agent/executable", "agent/interpreter/python", "agent/interpreter/runtime", "agent/unwind", "common", "bpf/abi"],
    "agent/interpreter/lua": ["agent/executable", "agent/interpreter/python", "agent/interpreter/runtime", "agent/unwind", "common", "bpf/abi"],
    "agent/interpreter": ["agent/interpreter", "agent/executable", "agent/helper", "agent/process", "agent/sample",
                          "common", "bpf/abi"],
    "agent/bpf_programs": ["common", "bpf"],
    "agent/cpu": ["common"],
    # The table of event sources, and the interface that each source implements. Sources do not know each other.
    "agent/event": ["agent/event/event_source.h", "agent/agent_metric.h", "agent/config.h", "agent/bpf_programs",
                    "agent/cpu", "agent/executable", "agent/process", "agent/sample", "common", "bpf/abi"],
    "agent/sample": ["agent/process", "agent/executable", "common", "bpf/abi"],
    "agent/wire": ["agent/sample", "agent/process", "agent/executable", "common", "proto"],
    "agent/upload": ["common", "proto"],
    "agent/kubernetes": ["agent/upload/http_client.h", "common"],
    "agent/helper": ["agent/executable", "agent/interpreter/runtime", "agent/interpreter/python",
                     "agent/interpreter/hotspot", "agent/interpreter/v8", "agent/interpreter/php",
                     "agent/interpreter/ruby", "agent/interpreter/perl", "agent/interpreter/lua", "agent/jit/file", "agent/unwind", "common"],
    "agent/jit/file": ["agent/executable", "common"],
    "agent/jit": ["agent/executable", "agent/helper", "agent/jit/file", "agent/process", "agent/sample", "common"],
    "agent/publish": ["agent/bpf_programs", "agent/executable", "agent/helper", "agent/interpreter/python",
                      "agent/interpreter/v8", "agent/interpreter/php", "agent/interpreter/ruby", "agent/interpreter/perl", "agent/interpreter/lua",
                      "agent/paging",
                      "agent/process",
                      "agent/sample", "agent/unwind", "common", "bpf"],

    "symbolizer": ["symbolizer", "common", "proto"],
    "symbolizer/http": ["common"],
    "symbolizer/sqlite": ["common"],
    # The interface that engines implement. Code that stores or reads samples includes no engine.
    "symbolizer/store": ["common"],
    # Pure functions of bytes, which an engine uses.
    "symbolizer/store/segment": ["common"],
    "symbolizer/store/head": ["symbolizer/store/segment", "symbolizer/store/store.h", "symbolizer/store/batch.h", "common"],
    "symbolizer/store/segment_db": ["symbolizer/store/head", "symbolizer/store/segment", "symbolizer/store/store.h",
                                    "symbolizer/store/batch.h", "symbolizer/store/host_codec.h", "symbolizer/sqlite",
                                    "common"],
    "symbolizer/store/segment_view": ["symbolizer/store/segment", "symbolizer/store/store_view.h",
                                      "symbolizer/store/sum_table.h", "common"],
    # Files that any engine has in its folder of data.
    "symbolizer/store/data_folder": ["common"],
    "symbolizer/store/segment_store": ["symbolizer/store", "symbolizer/store/data_folder",
                                       "symbolizer/store/segment_db", "symbolizer/store/segment_view",
                                       "symbolizer/sqlite", "common"],
    "symbolizer/store/sqlite": ["symbolizer/store", "symbolizer/store/data_folder", "symbolizer/sqlite", "common"],
    "symbolizer/store/clickhouse": ["symbolizer/store", "symbolizer/store/data_folder", "common"],
    "symbolizer/flame": ["common"],
    "symbolizer/debuginfo": ["symbolizer/sqlite", "common"],
    "symbolizer/debuginfo/upstream": ["symbolizer/debuginfo", "common"],
    "symbolizer/symbols/line_table": ["common"],
    "symbolizer/symbols/table": ["common"],
    "symbolizer/symbols/elf": ["symbolizer/symbols/table", "symbolizer/symbols/symbol_limits.h", "common"],
    "symbolizer/symbols/dwarf": ["symbolizer/symbols/elf", "symbolizer/symbols/table",
                                 "symbolizer/symbols/symbol_limits.h", "common"],
    "symbolizer/symbols/code": ["common"],
    "symbolizer/symbols/compile": ["symbolizer/symbols/code", "symbolizer/symbols/dwarf", "symbolizer/symbols/elf", "symbolizer/symbols/table",
                                   "symbolizer/symbols/symbol_limits.h", "common"],
    "symbolizer/symbols/cache": ["symbolizer/symbols/code", "symbolizer/symbols/compile", "symbolizer/symbols/table", "symbolizer/debuginfo",
                                 "symbolizer/sqlite", "common"],
    "symbolizer/symbols": ["symbolizer/symbols/cache", "symbolizer/symbols/table", "common"],
    "symbolizer/ingest": ["symbolizer/store/store.h", "symbolizer/store/batch.h", "symbolizer/debuginfo", "common",
                          "proto"],
    # Profiles of other profilers become batches, which the folder ingest stores.
    "symbolizer/import": ["symbolizer/store/batch.h", "common", "proto"],
    "symbolizer/query/filter": ["symbolizer/store/store_view.h", "common"],
    "symbolizer/query": ["symbolizer/query/filter", "symbolizer/store/store_view.h", "symbolizer/symbols",
                         "symbolizer/flame", "symbolizer/debuginfo", "common"],
    "symbolizer/export": ["symbolizer/query", "symbolizer/store/store_view.h", "symbolizer/flame", "symbolizer/ui",
                          "common", "proto"],
    # Symbolizes the samples in ClickHouse for users of SQL, so it knows both.
    "symbolizer/in_process": ["symbolizer/query", "symbolizer/store/store.h", "symbolizer/store/store_view.h",
                              "symbolizer/store/clickhouse", "symbolizer/debuginfo", "symbolizer/flame",
                              "symbolizer/symbols", "common"],
    "symbolizer/ui": ["common"],
    "symbolizer/api": ["symbolizer/http", "symbolizer/import", "symbolizer/ingest", "symbolizer/query", "symbolizer/debuginfo",
                       "symbolizer/export", "symbolizer/flame", "symbolizer/store/store.h", "symbolizer/symbols",
                       "symbolizer/ui", "common", "proto"],
    # The program `hearth`: it shares common/ only with the server.
    "symbolizer/cli": ["symbolizer/cli/command", "symbolizer/cli/options", "common"],
    "symbolizer/cli/options": ["common"],
    "symbolizer/cli/print": ["common"],
    "symbolizer/cli/client": ["symbolizer/cli/options", "symbolizer/cli/print", "common"],
    "symbolizer/cli/profile": ["symbolizer/cli/client", "symbolizer/cli/options", "symbolizer/cli/print", "common"],
    "symbolizer/cli/list": ["symbolizer/cli/profile", "symbolizer/cli/client", "symbolizer/cli/options",
                            "symbolizer/cli/print", "common"],
    "symbolizer/cli/doctor": ["symbolizer/cli/client", "symbolizer/cli/options", "symbolizer/cli/print", "common"],
    "symbolizer/cli/upload": ["symbolizer/cli/client", "symbolizer/cli/options", "symbolizer/cli/print", "common"],
    "symbolizer/cli/mcp": ["symbolizer/cli/options", "symbolizer/cli/print", "common"],
    "symbolizer/cli/command": ["symbolizer/cli", "common"],

    # Prints the manual from the tables of the three programs, one generator for each.
    "deploy/manual": ["common", "agent/options.h", "symbolizer/options.h", "symbolizer/cli/command",
                      "symbolizer/cli/options"],

    "tests/workloads": [],
    "tests": ["tests", "agent", "symbolizer", "common", "proto", "bpf", "deploy"],
}

# Folders with only one header for other folders: folder -> that header, and the folders that may
# include all headers.
PRIVATE = {
    "agent/unwind/x86_code": ("agent/unwind/x86_code/x86_code.h",
                              ["agent/interpreter/python", "agent/interpreter/ruby", "agent/interpreter/perl", "agent/interpreter/lua",
                               "tests/unit/agent/unwind/x86_code", "tests/unwind_check", "tests/fuzz"]),
}

BANNED = {
    "strcpy": "no bound", "strcat": "no bound", "sprintf": "no bound", "vsprintf": "no bound", "gets": "no bound",
    "atoi": "no errors", "atol": "no errors", "atof": "no errors", "strtok": "hidden state",
    "system": "a shell", "alloca": "no bound", "setjmp": "jumps over cleanup", "longjmp": "jumps over cleanup",
}

# (function, file): the reason for the exception.
BANNED_EXCEPT = {
    ("setjmp", "symbolizer/symbols/compile/demangle.c"): "the demanglers' callbacks have no other way to stop them",
    ("longjmp", "symbolizer/symbols/compile/demangle.c"): "the demanglers' callbacks have no other way to stop them",
}

# The words are composed here, so that the check does not find them in this file.
UNFINISHED = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b"
                        r"|not yet imple" "mented|unimple" "mented")

# Hosts that may be named. Any other host would be a private machine, or a link that may break.
URL = re.compile(r"\bhttps?://([A-Za-z0-9.\[\]-]*)")
URL_HOSTS = re.compile(
    r"^(127\.0\.0\.\d+|localhost|\[::1\]|0\.0\.0\.0|HOST|SERVER|[a-z0-9.-]*\.?example(\.(com|org|net))?"
    r"|[a-z0-9-]+|(www\.)?apache\.org|www\.w3\.org|www\.speedscope\.app|kubernetes\.default\.svc|www\.debian\.org|debuginfod\.debian\.net|json-schema\.org)$")

HEARTH_HEADER = re.compile(r"X-Hearth(?:-[A-Z][A-Za-z]*)+")

# A full path of a file in the repository. Generated headers, headers of libbpf and placeholders
# (NAME.sh) are excluded.
NAMED_PATH = re.compile(r"(?<![\w/.$}-])(?:agent|symbolizer|common|bpf|proto|tests|deploy)/[\w/.-]*\.(?:c|h|def|proto|py|sh|js|md)\b")
NOT_A_PATH = re.compile(r"\.(pb-c|skel)\.h$|^bpf/(bpf|libbpf|btf|bpf_\w+)\.h$|/NAME\.")
NAMING_SUFFIXES = {".c", ".h", ".def", ".md", ".py", ".sh", ".proto"}

CODE_SUFFIXES = {".c", ".h"}

# clang-format breaks code at 100 columns, but not comments and literals. Tables that are excluded
# from clang-format may be wider.
MAX_COLUMNS = 100
SPDX_SUFFIXES = {".c", ".h", ".py", ".sh", ".js", ".mjs", ".css", ".cmake", ".proto", ".sql", ".def", ".yaml", ".yml"}
BINARY_SUFFIXES = {".png", ".ico", ".elf", ".bin", ".gz", ".zst", ".debug", ".o", ".so"}

# Headers for the BPF compiler, and for the host build, which has its own helpers first: a plain C
# compiler cannot compile them alone.
HEADERS_NOT_ALONE = ("bpf/include/", "bpf/host/include/")


class Finding:
    def __init__(self, path, line, text):
        self.path, self.line, self.text = str(path), line, text

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def tracked_files(root):
    """Returns tracked files and those that git would add; without git, everything but build
    folders.
    """
    try:
        out = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], check=True, capture_output=True).stdout
        names = [name for name in out.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
        names = [name for name in names if not re.match(r"(build|\.git/|\.cache/)", name)]
    return sorted(pathlib.PurePosixPath(name) for name in names if (root / name).is_file())


def strip_comments_and_texts(source):
    """Replaces comments and literals by blanks, and keeps line numbers."""
    token = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        text = match.group(0)
        keep = text[0] if text[0] in "\"'" else " "
        return keep + "\n" * text.count("\n") + (keep if keep != " " else "")

    return token.sub(blank, source)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def rule_for(folder):
    best = None
    for key in MAY_INCLUDE:
        if (folder == key or folder.startswith(key + "/")) and (best is None or len(key) > len(best)):
            best = key
    return best


def check_top_level(files):
    for name in sorted({path.parts[0] for path in files}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield Finding(name, 1, "does not belong at the top level")


def check_includes(path, source, root):
    folder = str(path.parent)
    rule = rule_for(folder)
    if rule is None:
        yield Finding(path, 1, f"no rule for the includes of '{folder}': add one to check_tree.py")
        return
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', source, re.M):
        target = match.group(1)
        line = line_of(source, match.start())
        target_folder = str(pathlib.PurePosixPath(target).parent)
        header, users = PRIVATE.get(target_folder, (target, []))
        if target != header and not any(is_inside(folder, user) for user in [target_folder, *users]):
            yield Finding(path, line, f"of '{target_folder}' only '{header}' may be included")
        if target_folder == "." or target.startswith("../"):
            # Test programs and workloads include headers of their folder by name, and generated
            # headers are in no folder of the repository. All other includes start from the top.
            is_neighbour = (root / path.parent / target).is_file()
            if target.startswith("../") or is_neighbour and not str(path).startswith("tests/"):
                yield Finding(path, line, f"include from the top of the repository, not '{target}'")
            continue
        if target_folder == folder or (is_inside(target_folder, rule) and rule in ("common", "bpf/abi", "tests")):
            continue
        if not any(target == allowed or is_inside(target_folder, allowed) for allowed in MAY_INCLUDE[rule]):
            yield Finding(path, line, f"'{rule}' may not include '{target_folder}'")


def is_inside(folder, parent):
    return folder == parent or folder.startswith(parent + "/")


def check_spdx(path, text):
    # Users edit the files in deploy/config/.
    if str(path).startswith("deploy/config/"):
        return
    if path.suffix in SPDX_SUFFIXES or path.name == "CMakeLists.txt":
        if not any("SPDX-License-Identifier:" in line for line in text.splitlines()[:3]):
            yield Finding(path, 1, "no SPDX line")


def check_pragma_once(path, source):
    if path.suffix == ".h" and not re.search(r"^#pragma once$", source, re.M):
        yield Finding(path, 1, "no #pragma once")


def check_layout(path, source):
    """Checks the layout of every file, including tables that are excluded from clang-format."""
    is_table = False
    for number, line in enumerate(source.split("\n"), 1):
        if re.search(r"/\* clang-format (on|off) \*/", line):
            is_table = "off" in line
        if line != line.rstrip():
            yield Finding(path, number, "blanks at the end of the line")
        if re.match(r"\t* {8}", line):
            yield Finding(path, number, "indented with blanks: tabs are used")
        if len(line.expandtabs(8)) > MAX_COLUMNS and not is_table:
            yield Finding(path, number, f"longer than {MAX_COLUMNS} columns")
    if not source.endswith("\n") or source.endswith("\n\n"):
        yield Finding(path, source.count("\n") + 1, "must end with one line end")


def check_banned(path, stripped):
    for match in re.finditer(r"\b(" + "|".join(BANNED) + r")\s*\(", stripped):
        before = stripped[:match.start()].rstrip()
        if before.endswith((".", "->")):
            continue
        name = match.group(1)
        if (name, str(path)) in BANNED_EXCEPT:
            continue
        yield Finding(path, line_of(stripped, match.start()), f"{name}() is banned: {BANNED[name]}")


def check_words(path, text, root):
    for number, line in enumerate(text.splitlines(), 1):
        match = UNFINISHED.search(line)
        if match:
            yield Finding(path, number, f"unfinished: '{match.group(0)}'")
        for match in URL.finditer(line):
            host = match.group(1).rstrip(".")
            if host and not URL_HOSTS.match(host):
                yield Finding(path, number, f"names the host '{host}'")
        # A path of the author's machine.
        if str(root) != "/" and str(root) in line or re.search(r"(^|[\s\"'=(])/(home|Users)/\w+", line):
            yield Finding(path, number, "names a path of one machine")


def check_common_tests(files):
    names = {str(path) for path in files}
    for path in files:
        if path.suffix != ".c" or path.parts[0] != "common":
            continue
        # Several files of a module may share a test: test_config.c also tests config_file.c.
        words = path.stem.split("_")
        tests = [f"tests/unit/{path.parent}/test_{'_'.join(words[:n])}.c" for n in range(len(words), 0, -1)]
        if not names.intersection(tests):
            yield Finding(path, 1, f"has no test: '{tests[0]}'")


def compile_flags():
    packages = ["libelf", "libdw", "libbpf", "libzstd", "sqlite3", "libmicrohttpd", "libprotobuf-c", "jansson",
                "yaml-0.1", "libpcre2-8", "libcurl", "libxxhash", "nettle", "gnutls"]
    return subprocess.run(["pkg-config", "--cflags", *packages], check=True, capture_output=True,
                          text=True).stdout.split()


def check_headers_alone(files, root, build):
    headers = [path for path in files if path.suffix == ".h" and not str(path).startswith(HEADERS_NOT_ALONE)
               and not path.name.endswith(".bpf.h")]
    flags = ["-fsyntax-only", "-std=gnu17", "-D_GNU_SOURCE", '-DHEARTH_VERSION="0"', "-Wall", "-Wextra", "-Werror",
             "-Wno-unused-function", "-Wno-unused-const-variable",
             f"-I{root}", f"-I{build}", "-x", "c", *compile_flags()]

    def compile_alone(path):
        # Includes it twice, which also finds headers that cannot be included again.
        unit = f'#include "{path}"\n#include "{path}"\n'
        run = subprocess.run(["gcc", *flags, "-"], input=unit, capture_output=True, text=True)
        if run.returncode == 0:
            return None
        first = next((line for line in run.stderr.splitlines() if "error" in line), run.stderr.strip())
        return Finding(path, 1, f"does not compile alone: {first}")

    with concurrent.futures.ThreadPoolExecutor() as pool:
        yield from (finding for finding in pool.map(compile_alone, headers) if finding)


def check_mutable_globals(root, build):
    """Reports symbols in .data, .bss or thread-local sections of our libraries that are not allowed
    by name.
    """
    allowed = {}
    allow_file = root / "tests/lint/mutable_globals.allow"
    if allow_file.is_file():
        for line in allow_file.read_text().splitlines():
            name, _, reason = line.partition("#")
            if name.strip():
                allowed[name.strip()] = reason.strip()
    archives = [path for folder in ("common", "agent", "symbolizer") for path in (build / folder).rglob("*.a")]
    row = re.compile(r"^[0-9a-f]+ .{7} (\.data(?!\.rel\.ro)\S*|\.bss\S*|\.tbss\S*|\.tdata\S*|\*COM\*)\s+[0-9a-f]+ "
                     r"(?:\.hidden )?(\S+)$")
    for archive in archives:
        out = subprocess.run(["objdump", "-t", str(archive)], check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            match = row.match(line)
            if not match:
                continue
            # Names of function-local statics end in a number: name.12
            name = re.sub(r"\.\d+$", "", match.group(2))
            if name.startswith((".", "__")) or name in allowed:
                continue
            yield Finding(archive.relative_to(build), 1,
                          f"'{name}' is mutable and exists as long as the program: pass it as an argument, or list "
                          "it with its reason in tests/lint/mutable_globals.allow")


def function_lengths(stripped):
    """Yields (name, first line, lines) of functions: a body that starts and ends in the first
    column.
    """
    lines = stripped.splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = " ".join(lines[max(0, start - 4):start - 1])
            names = re.findall(r"(\w+)\s*\(", head)
            yield (names[0] if names else "?", start, number - start + 1)
            start = None


def print_sizes(files, root):
    sizes, functions = [], []
    for path in files:
        if path.suffix not in CODE_SUFFIXES | {".js", ".py", ".sh"}:
            continue
        text = (root / path).read_text(errors="replace")
        sizes.append((text.count("\n"), path))
        if path.suffix in CODE_SUFFIXES:
            functions += [(length, path, name, line)
                          for name, line, length in function_lengths(strip_comments_and_texts(text))]
    total = sum(size for size, _ in sizes)
    over = sum(1 for size, _ in sizes if size > 500)
    long_ones = sum(1 for row in functions if row[0] > 60)
    print(f"sizes: {len(sizes)} files, {total} lines; {over} files over 500 lines, {long_ones} of "
          f"{len(functions)} functions over 60")
    for size, path in sorted(sizes, reverse=True, key=lambda row: row[0])[:5]:
        if size > 500:
            print(f"  {size:5} {path}")
    for length, path, name, line in sorted(functions, reverse=True, key=lambda row: row[0])[:5]:
        if length > 60:
            print(f"  {length:5} {path}:{line} {name}()")


def check_file(path, root):
    if path.suffix in BINARY_SUFFIXES:
        return
    try:
        text = (root / path).read_text()
    except UnicodeDecodeError:
        if not str(path).startswith(("tests/golden/", "tests/fuzz/corpus/")):
            yield Finding(path, 1, "is not text")
        return
    yield from check_spdx(path, text)
    if path.name != "LICENSE" and not str(path).startswith("tests/fuzz/corpus/"):
        yield from check_words(path, text, root)
    if path.suffix in CODE_SUFFIXES:
        stripped = strip_comments_and_texts(text)
        yield from check_includes(path, text, root)
        yield from check_pragma_once(path, text)
        yield from check_banned(path, stripped)
        yield from check_layout(path, text)


def check_headers_documented(files, root):
    """Every X-Hearth header that the server sends or reads must be in the description of the API."""
    documentation = root / "docs/http-api.md"
    described = set(HEARTH_HEADER.findall(documentation.read_text())) if documentation.is_file() else set()
    for path in files:
        if path.parts[0] != "symbolizer" or path.suffix not in CODE_SUFFIXES:
            continue
        text = (root / path).read_text(errors="replace")
        for match in re.finditer(r'"(' + HEARTH_HEADER.pattern + r')"', text):
            if match.group(1) not in described:
                yield Finding(path, line_of(text, match.start()), f"docs/http-api.md lacks the header {match.group(1)}")


def check_named_paths(path, text, names):
    """A path of the repository in a document or a comment must exist, because files are often
    moved.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*#\s*include\b", line):
            continue
        for match in NAMED_PATH.finditer(line):
            if match.group(0) not in names and not NOT_A_PATH.search(match.group(0)):
                yield Finding(path, number, f"names '{match.group(0)}', which does not exist")


def check(root, build=None):
    files = tracked_files(root)
    names = {str(path) for path in files}
    yield from check_top_level(files)
    for path in files:
        yield from check_file(path, root)
        if path.suffix in NAMING_SUFFIXES and not str(path).startswith("tests/lint/"):
            yield from check_named_paths(path, (root / path).read_text(errors="replace"), names)
    yield from check_common_tests(files)
    yield from check_headers_documented(files, root)
    if build:
        yield from check_headers_alone(files, root, build)
        yield from check_mutable_globals(root, build)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--sizes", action="store_true")
    arguments = parser.parse_args()

    root = arguments.root.resolve()
    build = arguments.build.resolve() if arguments.build else None
    findings = list(check(root, build))
    for finding in findings:
        print(finding)
    if arguments.sizes:
        print_sizes(tracked_files(root), root)
    if not build:
        print("note: no --build, so headers and mutable globals were not checked")
    print(f"{len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
