# SPDX-License-Identifier: Apache-2.0
"""Prints the results of compare.py, one line per program: table.py FILE"""
import json
import sys


def main():
    print(f"\n{'program':12} {'samples ours / perf':>20} {'complete ours / perf %':>24} {'self':>7} {'inclusive':>10}          verdict")
    with open(sys.argv[1], encoding="utf-8") as results:
        for line in results:
            row = json.loads(line)
            print(f"{row['program']:12} {row['samples'][0]:>10} / {row['samples'][1]:<8} "
                  f"{row['complete'][0]:>13.2f} / {row['complete'][1]:<8.2f} {row['self']:>7.2f} "
                  f"{row['inclusive']:>10.2f} {row['kind']:8} "
                  f"{'FAIL ' + ', '.join(row['problems']) if row['problems'] else 'pass'}")
    print("\nself, inclusive: the largest difference in percentage points among the top ten functions of both sides")


if __name__ == "__main__":
    main()
