#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/fuzz/corpus/import_otlp and .../proto_json: requests of OTLP's profiles, serialized by the published messages of each
version.

    make_otlp_corpus.py OPENTELEMETRY_PROTO

OPENTELEMETRY_PROTO is a clone of the repository opentelemetry-proto. Needs git, protoc and python3-protobuf. The tests need none of
them: they read the files that this program has written.

Each file has three profiles of two resources. The first resource is a Go program, with the samples of import_pprof/go-cpu.pb. The second
one is a process as OpenTelemetry's eBPF profiler sends it: samples with timestamps, of native, Python and kernel code, and time off CPU.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORPUS = os.path.join(ROOT, "tests/fuzz/corpus")
PPROF = os.path.join(CORPUS, "import_pprof/go-cpu.pb")
# Of 1.4 and 1.5, of 1.8 and 1.9, and of 1.10 and 1.11 the messages are equal.
VERSIONS = ["1.5.0", "1.7.0", "1.9.0", "1.11.0"]

# 2026-11-27 11:59:55 UTC. End-to-end tests replace the times in the files.
BEGIN_NS = 1795780795 * 10**9
STAMPS_NS = [BEGIN_NS + 100_000_000 * i for i in (1, 2, 3)]
BUILD_ID = "a1b2c3d4e5f60718293a4b5c6d7e8f9001020304"


def protoc(include, out, files):
    subprocess.run(["protoc", "-I", include, "--python_out", out] + files, check=True)


def write_version(repository, version):
    """Compiles the messages of a version, and serializes with them in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "-C", repository, "archive", "v" + version, "opentelemetry/proto"], check=True,
                                 stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
        protos = [os.path.join("opentelemetry", "proto", *name) + ".proto" for name in (
            ("common", "v1", "common"), ("resource", "v1", "resource"), ("profiles", "v1development", "profiles"),
            ("collector", "profiles", "v1development", "profiles_service"))]
        protoc(folder, folder, protos)
        protoc(os.path.join(ROOT, "proto"), folder, ["profile.proto"])
        subprocess.run([sys.executable, os.path.abspath(__file__), "--serialize", version], check=True,
                       env=dict(os.environ, PYTHONPATH=folder))


class Tables:
    """The tables of a dictionary or of a profile, in the form of one version."""

    def __init__(self, message, version, pb, common):
        self.message, self.version, self.pb, self.common = message, version, pb, common
        self.strings, self.items = {}, {}
        self.string("")
        for name in ("mapping_table", "location_table", "function_table", "link_table", "attribute_table", "stack_table"):
            if version >= (1, 8) or name == "function_table":
                getattr(message, name).add()

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings)
            self.message.string_table.append(text)
        return self.strings[text]

    def add(self, table, item):
        """The index of an item, which is added if it is new."""
        key = (table, item.SerializeToString(deterministic=True))
        if key not in self.items:
            self.items[key] = len(getattr(self.message, table))
            getattr(self.message, table).add().CopyFrom(item)
        return self.items[key]

    def value(self, value):
        if isinstance(value, int):
            return self.common.AnyValue(int_value=value)
        return self.common.AnyValue(string_value=value)

    def attribute(self, key, value):
        if self.version >= (1, 8):
            return self.add("attribute_table", self.pb.KeyValueAndUnit(key_strindex=self.string(key), value=self.value(value)))
        return self.add("attribute_table", self.common.KeyValue(key=key, value=self.value(value)))

    def mapping(self, **fields):
        attributes = [self.attribute("process.executable.build_id.gnu", fields.pop("build_id"))] if "build_id" in fields else []
        return self.add("mapping_table", self.pb.Mapping(filename_strindex=self.string(fields.pop("filename")),
                                                         attribute_indices=attributes, **fields))

    def location(self, lines=(), frame_type=None, **fields):
        location = self.pb.Location(**fields)
        repeated = location.lines if self.version >= (1, 9) else location.line
        for name, file, number in lines:
            function = self.pb.Function(name_strindex=self.string(name), filename_strindex=self.string(file))
            repeated.add(function_index=self.add("function_table", function), line=number)
        if frame_type:
            location.attribute_indices.append(self.attribute("profile.frame.type", frame_type))
        return self.add("location_table", location)


class Profile:
    def __init__(self, message, tables, types):
        self.message, self.tables, self.version = message, tables, tables.version
        for name, unit in types:
            fields = dict(type_strindex=tables.string(name), unit_strindex=tables.string(unit))
            if self.version >= (1, 8):
                message.sample_type.MergeFrom(tables.pb.ValueType(**fields))
            else:
                message.sample_type.add(**fields)
        if self.version >= (1, 8):
            message.time_unix_nano, message.duration_nano = BEGIN_NS, 3 * 10**9
        else:
            message.time_nanos, message.duration_nanos = BEGIN_NS, 3 * 10**9

    def period(self, name, unit, period):
        tables = self.tables
        self.message.period_type.CopyFrom(tables.pb.ValueType(type_strindex=tables.string(name), unit_strindex=tables.string(unit)))
        self.message.period = period

    def sample(self, locations, values, attributes=(), stamps=()):
        message = self.message
        sample = message.samples.add() if self.version >= (1, 9) else message.sample.add()
        if self.version >= (1, 8):
            sample.stack_index = self.tables.add("stack_table", self.tables.pb.Stack(location_indices=locations))
            sample.values.extend(values)
        else:
            sample.locations_start_index, sample.locations_length = len(message.location_indices), len(locations)
            message.location_indices.extend(locations)
            sample.value.extend(values)
        sample.attribute_indices.extend(self.tables.attribute(key, value) for key, value in attributes)
        sample.timestamps_unix_nano.extend(stamps)


def set_attributes(resource, attributes, common):
    for key, value in attributes:
        value = common.AnyValue(int_value=value) if isinstance(value, int) else common.AnyValue(string_value=value)
        resource.attributes.add(key=key, value=value)


def add_go_samples(pprof, tables, profiles):
    """Adds the samples of a profile of pprof: each of its types is a profile, or there is one profile with all types."""
    text = pprof.string_table
    functions = {f.id: (text[f.name], text[f.filename]) for f in pprof.function}
    locations = {l.id: tables.location([functions[line.function_id] + (line.line,) for line in l.line], "go", address=l.address)
                 for l in pprof.location}
    for sample in pprof.sample:
        attributes = [(text[label.key], text[label.str]) for label in sample.label if label.str]
        stack = [locations[i] for i in sample.location_id]
        if len(profiles) == 1:
            profiles[0].sample(stack, sample.value, attributes)
        else:
            for profile, value in zip(profiles, sample.value):
                profile.sample(stack, [value], attributes)


def add_mixed_samples(tables, on_cpu, off_cpu):
    """Samples of OpenTelemetry's eBPF profiler. Its addresses are those of the ELF file."""
    mapping = tables.mapping(memory_start=0x1000, memory_limit=0x9000, file_offset=0x1000, filename="/usr/bin/mixed", build_id=BUILD_ID)
    native = tables.location(mapping_index=mapping, address=0x4242, frame_type="native")
    python = tables.location([("handle", "/srv/app.py", 17)], "cpython")
    kernel = tables.location([("do_syscall_64", "", 0)], "kernel", address=0xffffffff81000042)
    thread = [("thread.name", "worker-1"), ("thread.id", 4243), ("cpu.logical_number", 3)]
    is_current = tables.version >= (1, 10)
    on_cpu.period("cpu", "nanoseconds", 10_000_000)
    on_cpu.sample([native, python], [] if is_current else [1], thread, STAMPS_NS)
    on_cpu.sample([kernel, native, python], [] if is_current else [1], thread + [("tenant", "blue")], STAMPS_NS[:1])
    off_cpu.sample([kernel, python], [5_000_000, 7_000_000], thread, STAMPS_NS[:2])
    off_cpu.sample([native, python], [1_000_000], thread, STAMPS_NS[2:])


def serialize(version_text):
    from google.protobuf import json_format
    from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
    from opentelemetry.proto.common.v1 import common_pb2 as common
    from opentelemetry.proto.profiles.v1development import profiles_pb2 as pb
    import profile_pb2

    version = tuple(int(part) for part in version_text.split(".")[:2])
    pprof = profile_pb2.Profile.FromString(open(PPROF, "rb").read())
    types = [(pprof.string_table[t.type], pprof.string_table[t.unit]) for t in pprof.sample_type]
    request = service.ExportProfilesServiceRequest()
    go, mixed = request.resource_profiles.add(), request.resource_profiles.add()
    set_attributes(go.resource, [("service.name", "go-shop"), ("host.name", "web-1"), ("service.version", "1.2"),
                                 ("k8s.pod.name", "go-7f"), ("k8s.namespace.name", "shop"), ("process.pid", 4711)], common)
    set_attributes(mixed.resource, [("process.executable.name", "ebpf-app"), ("host.name", "web-1"), ("container.id", "c0ffee"),
                                    ("process.pid", 4242)], common)
    dictionary = None
    if version >= (1, 7):
        dictionary = Tables(request.dictionary, version, pb, common)
    if version >= (1, 10):
        mixed.resource.attributes.add(key_strindex=dictionary.string("deployment.environment.name"),
                                      value=common.AnyValue(string_value_strindex=dictionary.string("production")))

    def profile(resource, profile_types):
        message = (resource.scope_profiles[0] if resource.scope_profiles else resource.scope_profiles.add()).profiles.add()
        return Profile(message, dictionary or Tables(message, version, pb, common), profile_types)

    if version >= (1, 8):
        profiles = [profile(go, [t]) for t in types]
    else:
        profiles = [profile(go, types)]
    add_go_samples(pprof, profiles[0].tables, profiles)
    on_cpu, off_cpu = profile(mixed, [("samples", "count")]), profile(mixed, [("events", "nanoseconds")])
    if dictionary:
        add_mixed_samples(dictionary, on_cpu, off_cpu)
    else:
        # The tables of a profile are its own: both get all locations.
        empty = Profile(pb.Profile(), off_cpu.tables, [])
        add_mixed_samples(on_cpu.tables, on_cpu, Profile(pb.Profile(), on_cpu.tables, []))
        add_mixed_samples(off_cpu.tables, empty, off_cpu)
    with open(os.path.join(CORPUS, "import_otlp", "v%d.%d.pb" % version), "wb") as file:
        file.write(request.SerializeToString(deterministic=True))
    if version == (1, 11):
        with open(os.path.join(CORPUS, "proto_json", "otlp-v1.11.json"), "w") as file:
            file.write(json_format.MessageToJson(request, indent=None))


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--serialize":
        serialize(sys.argv[2])
    elif len(sys.argv) == 2:
        for folder in ("import_otlp", "proto_json"):
            os.makedirs(os.path.join(CORPUS, folder), exist_ok=True)
        for version in VERSIONS:
            write_version(sys.argv[1], version)
    else:
        sys.exit(__doc__)


main()
