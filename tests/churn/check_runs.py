#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the server's profiles of the programs of churn_driver with the records of their parent.

    check_runs.py SERVER_URL RUNS_FILE FROM TO

Prints figures, one per line, and faults on standard error. Exits with 1 if there is any fault.
"""
import json
import math
import re
import sys
import urllib.request

PERIOD_US = 1e6 / 99
FUNCTION = re.compile(r"spin_in_(?:program|library)_(\d+)_$")
MODULE = re.compile(r"/(?:lib)?churn_(\d+)(?:\.so)?\]$")


class Server:
    def __init__(self, url):
        self.url = url + "/v1/profile/ProfileTracing"

    def profile(self, service, first, last, tag_filter=""):
        question = {
            "app_service": service, "profile_event_type": "on-cpu", "profile_language_type": "eBPF",
            "time_start": first, "time_end": last, "tag_filter": tag_filter,
        }
        request = urllib.request.Request(self.url, json.dumps(question).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["result"] or []


def total(nodes):
    return sum(node["total_value"] for node in nodes if node["parent_node_id"] == "-1")


def foreign_labels(nodes, number):
    """Yields labels that only exist in the mappings of another program."""
    for node in nodes:
        label = node["profile_location_str"]
        found = FUNCTION.search(label) or MODULE.search(label)
        if (found and found.group(1) != number) or "work_before_exec" in label or "churn_driver" in label:
            yield label, node["total_value"]


def check_services(server, services, first, last):
    wrong_us = all_us = own_us = 0
    faults = []
    for service in services:
        number = service.split("_")[1]
        nodes = server.profile(service, first, last)
        all_us += total(nodes)
        own_us += sum(node["self_value"] for node in nodes if FUNCTION.search(node["profile_location_str"]))
        for label, value in foreign_labels(nodes, number):
            wrong_us += value
            faults.append(f"{service} has '{label}' ({value} us)")
    for node in server.profile("churn_driver", first, last):
        if FUNCTION.search(node["profile_location_str"]):
            wrong_us += node["total_value"]
            faults.append(f"churn_driver has '{node['profile_location_str']}' ({node['total_value']} us)")
    print(f"churn.services_us {all_us} us")
    print(f"churn.in_own_functions_pct {100 * own_us / max(all_us, 1):.2f} %")
    print(f"churn.in_wrong_executable_us {wrong_us} us")
    return faults


def check_long_runs(server, runs):
    found = named = 0
    profile_us = parent_us = 0
    for service, pid, started_ns, ended_ns, cpu_us in runs:
        nodes = server.profile(service, started_ns // 10**9, ended_ns // 10**9, f"process_id = {pid}")
        found += bool(nodes)
        named += any(FUNCTION.search(node["profile_location_str"]) for node in nodes)
        profile_us += total(nodes)
        parent_us += cpu_us
    count = len(runs)
    # A run consists of small slices that each tick hits or misses, so e^-n of the runs have no
    # tick, with n = the mean number of ticks of a run.
    chance = math.exp(-parent_us / max(count, 1) / PERIOD_US)
    allowed = count * chance + 3 * math.sqrt(count * chance) + 1
    print(f"churn.long_runs {count} runs")
    print(f"churn.long_runs_found {found} runs")
    print(f"churn.long_runs_named {named} runs")
    print(f"churn.long_runs_time_ratio {profile_us / max(parent_us, 1):.4f} x")
    faults = []
    if count < 10:
        faults.append(f"only {count} long runs")
    if count - found > allowed:
        faults.append(f"{count - found} long runs have no samples, expected are at most {allowed:.0f}")
    if found - named > allowed:
        faults.append(f"{found - named} long runs have samples, but not the name of their function")
    # The number of ticks of a run is random. The tolerance is three standard deviations of the sum.
    tolerance = 0.02 + 3 * PERIOD_US * math.sqrt(count * parent_us / max(count, 1) / PERIOD_US) / max(parent_us, 1)
    if abs(profile_us / max(parent_us, 1) - 1) > tolerance:
        faults.append(f"the long runs have {profile_us} us in the profile, but used {parent_us} us")
    return faults


def main():
    url, runs_file, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    server = Server(url)
    runs = []
    with open(runs_file, encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if len(words) == 5 and words[0].startswith("churn_"):
                runs.append((words[0], *map(int, words[1:])))
    services = sorted({run[0] for run in runs})
    faults = check_services(server, services, first, last) + check_long_runs(server, runs)
    for fault in faults[:40]:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
