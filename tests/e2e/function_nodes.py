#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of a function of a script at all of its lines: function_nodes.py total|callers|stacks PROFILE NAME

PROFILE is an answer of ProfileTracing, in which labels of the function are "NAME (FILE:LINE)".
total    prints the total of these nodes, without those below another one
callers  prints for each node the labels of its callers, without lines, joined with "<"; each list once
stacks   prints for each list of callers that have lines the total of these nodes, and the labels, joined with "<"
"""
import json
import re
import sys


def main():
    what, path, name = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        nodes = json.load(file)["result"]
    by_id = {node["node_id"]: node for node in nodes}
    total, lists, stacks = 0, set(), {}
    for node in nodes:
        if name_of(node) != name or " (" not in node["profile_location_str"]:
            continue
        callers = [name_of(caller) for caller in callers_of(node, by_id)]
        labels = [caller["profile_location_str"] for caller in callers_of(node, by_id)]
        stack = "<".join(label for label in labels if re.search(r" \([^ ]+:[0-9]+\)$", label))
        stacks[stack] = stacks.get(stack, 0) + (0 if name in callers else node["total_value"])
        lists.add("<".join(callers))
        if name not in callers:
            total += node["total_value"]
    if what == "stacks":
        lists = (f"{value} {stack}" for stack, value in stacks.items())
    print(total if what == "total" else "\n".join(sorted(lists)))


def name_of(node):
    return re.sub(r" \([^ ()]+:[0-9]+\)$", "", node["profile_location_str"])


def callers_of(node, by_id):
    while node["parent_node_id"] in by_id:
        node = by_id[node["parent_node_id"]]
        yield node


main()
