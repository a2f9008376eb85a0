# SPDX-License-Identifier: BSD-2-Clause
"""Prints scope-profiler's own line profile of .sps files as JSON: {region: [[file, line, samples]]}.

Run by the Python that has scope-profiler installed. Prefers addr2line, whose answers depend less on
the version of the tool than llvm-symbolizer's.
"""

import json
import sys
from collections import Counter

from scope_profiler import native_samples

native_samples.shutil.which = lambda tool: "addr2line" if tool == "addr2line" else None
total = {}
for path in sys.argv[1:]:
    for region, rows in native_samples.line_profile(native_samples.read_samples(path)).items():
        counts = total.setdefault(region, Counter())
        for row in rows:
            counts[(row.file, row.line)] += row.samples
json.dump({region: [[f, n, c] for (f, n), c in counts.items()] for region, counts in total.items()},
          sys.stdout)
