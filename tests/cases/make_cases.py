#!/usr/bin/env python3
"""Small session logs, each with one fault or hard case, and a case.json that says what must be seen.

    make_cases.py OUT [--big] [--only TEXT] [--verify]

Two runs with one zstandard version write the same bytes. README.md next to this file describes case.json.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
from pathlib import Path

from casekit import CASES, Case, verify

for part in ("damage", "format", "size", "search", "story", "terminal"):  # a case's number is its place in these
    importlib.import_module(f"cases_{part}")


def main() -> int:
    """The command line; 1 when `--verify` finds something that case.json says and no file holds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, nargs="?", help="directory that receives one folder per case")
    parser.add_argument("--big", action="store_true", help="full sizes for the cases about size")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="only names that contain TEXT")
    parser.add_argument("--verify", action="store_true", help="read every file back and prove what it holds")
    parser.add_argument("--table", action="store_true", help="print the index table and stop")
    args = parser.parse_args()
    if args.table:
        for name, _, meta in CASES:
            print(f"| {name.split('-', 1)[0]} | `{name}` | {meta['kind']} | {meta['title']} |")
        return 0
    if args.out is None:
        parser.error("the directory is missing")
    bad = 0
    for name, build, meta in CASES:
        if args.only and not any(t in name for t in args.only):
            continue
        one = Case(args.out, name, args.big, meta)
        if one.dir.exists():
            shutil.rmtree(one.dir)
        one.dir.mkdir(parents=True)
        build(one)
        one.save()
        if args.verify:
            wrong = verify(one.dir)
            bad += bool(wrong)
            print(f"{'WRONG' if wrong else 'ok':6}{name} ({len(one.holds)} facts)")
            for text in wrong:
                print("      ", text)
    if not args.verify:
        print(f"{len(CASES) if not args.only else 'some'} cases in {args.out}")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
