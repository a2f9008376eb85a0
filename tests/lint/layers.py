#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""layers.py - who may include whom, who may link what, and that every source says its licence.

    layers.py SOURCE includes	each #include of a source against the table below
    layers.py SOURCE licences	an SPDX line at the top of every source
    layers.py SOURCE links BIN	the libraries of the programs that were built
    layers.py SOURCE self	that each of these finds what it is there to find
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# Folder, most special first: (what of ours it may include, what of other libraries). A header of the
# compiler, of libc or of the kernel (<linux/…>) may be included everywhere, except where NO_LIBC.
OURS = {
    "usdt": [],
    "bpf": ["bpf/", "formats/wire.h", "formats/unwind.h", "formats/events.def"],
    "formats": ["formats/"],
    "userspace/base": ["userspace/base/"],
    "userspace/analysis": ["formats/", "userspace/base/", "userspace/analysis/"],
    "userspace/export": ["formats/", "userspace/base/", "userspace/analysis/", "userspace/export/"],
    "userspace/cmd": ["formats/", "userspace/base/", "userspace/analysis/", "userspace/export/", "userspace/cmd/"],
    # The program on which probes are tried carries them.
    "loader/helpers": ["formats/", "userspace/base/", "loader/", "usdt/sp_region.h"],
    "loader": ["formats/", "userspace/base/", "loader/", "bpf/config.h"],
}
NOT_OURS = {"loader": [r"formats/(h5_|profile)"], "loader/helpers": [r"formats/(h5_|profile)"]}
# Headers of libraries: the files that may have them.
LIBRARIES = {
    r"hdf5.*|H5.*": r"formats/(h5_|profile_).*",
    r"bpf/bpf_.*": r"bpf/.*",
    r"bpf/(bpf|libbpf|btf)\.h": r"loader/(?!helpers/).*",
    r".*\.skel\.h": r"loader/bpf\.c",
    r"flamegraph_parts\.h": r"userspace/export/flamegraph\.c",  # made by the build
    r"libelf|gelf|libelf\.h|gelf\.h|elfutils/libelf.*": r"loader/helpers/.*|userspace/analysis/(symbol|debug|unwind_dwarf).*",
    r"dwarf\.h|elfutils/libdw.*|elfutils/debuginfod.*": r"loader/helpers/.*|userspace/analysis/(symbol|debug|unwind_dwarf).*",
    r"demangle\.h": r"userspace/analysis/names\.c",
    r"perfmon/.*": r"loader/.*",
}
LIBC_IN_BPF = r"(stdio|stdlib|string|unistd|errno|stdint|inttypes|sys/.*|pthread|time)\.h"
SUFFIXES = {".c", ".h", ".hpp", ".cpp", ".cc", ".f90", ".F90", ".py", ".inc", ".def"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def sources(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path.relative_to(root)


def check_includes(root):
    wrong, seen = [], 0
    for path in sources(root, ["usdt", "bpf", "formats", "userspace", "loader"]):
        if path.suffix in (".py", ".f90", ".F90"):
            continue
        folder = next(f for f in sorted(OURS, key=len, reverse=True) if str(path).startswith(f + "/"))
        for quote, name in INCLUDE.findall((root / path).read_text()):
            seen += 1
            reason = judge(root, path, folder, quote, name)
            if reason:
                wrong.append(f"{path}: {quote}{name}: {reason}")
    return wrong, seen


def judge(root, path, folder, quote, name):
    """Why the include is forbidden, or None."""
    for library, allowed in LIBRARIES.items():
        if re.fullmatch(library, name) and not (quote == '"' and (root / name).exists()):
            return None if re.fullmatch(allowed, str(path)) else f"only {allowed} may include this library"
    if folder == "bpf" and quote == "<" and re.fullmatch(LIBC_IN_BPF, name):
        return "BPF programs have no libc"
    if quote == "<":
        return None
    if folder == "usdt" and "/" not in name and (root / "usdt" / name).exists():
        return None  # these are copied into projects together
    if (root / path.parent / name).exists() and "/" not in name:
        return "includes are relative to the root, so that the line shows the layer"
    if not (root / name).exists():
        return "there is no such file"
    if not any(name == ours or (ours.endswith("/") and name.startswith(ours)) for ours in OURS[folder]):
        return f"{folder}/ may include {', '.join(OURS[folder]) or 'nothing of ours'}"
    if any(re.match(no, name) for no in NOT_OURS.get(folder, [])):
        return f"{folder}/ may not include this part of formats/, which needs HDF5"
    return None


def check_licences(root):
    wrong, seen = [], 0
    for path in sources(root, ["usdt", "bpf", "formats", "userspace", "loader", "examples", "tests", "bench", "scripts"]):
        head = (root / path).read_text(errors="replace")[:400]
        seen += 1
        licence = re.search(r"SPDX-License-Identifier: (.*?)(?: \*/)?$", head, re.M)
        wanted = r"BSD-2-Clause OR GPL-2\.0(-only)?" if path.parts[0] == "bpf" else r"BSD-2-Clause( OR .*)?"
        if not licence:
            wrong.append(f"{path}: no SPDX-License-Identifier in its first lines")
        elif not re.fullmatch(wanted, licence[1].strip()):
            wrong.append(f"{path}: its licence is '{licence[1].strip()}'")
    return wrong, seen


# Program: libraries that it must not need.
LINKS = {
    "sp-trace": r"libdw|libelf\.so\.0|libhdf5|libdebuginfod",
    "sp-report": r"libbpf",
    "sp-elf": r"libbpf|libhdf5",
    "sp-libs": r"libbpf|libhdf5|libdw|libelf",
    "sp-unwind": r"libbpf|libhdf5|libdebuginfod",
    "sp-selftest": r"libbpf|libhdf5|libdw|libelf",
}


def check_links(_, folder):
    wrong, seen = [], 0
    for name, forbidden in LINKS.items():
        program = pathlib.Path(folder) / name
        if not program.exists():
            continue
        said = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", said)
        seen += len(needed)
        wrong += [f"{name} needs {lib}" for lib in needed if re.match(forbidden, lib)]
    return wrong, seen


def check_self(_):
    """Bad files, each of which must be found."""
    bad = {
        "usdt/a.h": '#include "formats/wire.h"\n',
        "bpf/a.bpf.c": "#include <stdio.h>\n",
        "bpf/b.bpf.c": '#include "formats/codec.h"\n',
        "formats/a.c": '#include "loader/bpf.h"\n',
        "formats/b.c": "#include <hdf5.h>\n",
        "formats/c.c": "#include <bpf/libbpf.h>\n",
        "formats/d.c": '#include "codec.h"\n',
        "userspace/base/a.c": '#include "formats/codec.h"\n',
        "userspace/analysis/a.c": '#include "userspace/export/sink.h"\n',
        "userspace/analysis/b.c": "#include <elfutils/libdw.h>\n",
        "userspace/cmd/a.c": '#include "loader/bpf.h"\n',
        "userspace/export/a.c": "#  include <bpf/bpf.h>\n",
        "loader/a.c": '#include "userspace/analysis/symbols.h"\n',
        "loader/b.c": '#include "sp_trace.skel.h"\n',
        "loader/c.c": '#include "formats/h5_write.h"\n',
        "loader/d.c": "#include <elfutils/libdw.h>\n",
        "loader/helpers/a.c": "#include <bpf/libbpf.h>\n",
        "loader/e.c": '#include "none/such.h"\n',
    }
    exist = ["formats/wire.h", "formats/codec.h", "formats/h5_write.h", "loader/bpf.h", "userspace/export/sink.h",
             "userspace/analysis/symbols.h"]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in bad.items() | {(e, "") for e in exist}:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = {w.partition(":")[0] for w in check_includes(root)[0]}
        missing = {w.partition(":")[0] for w in check_licences(root)[0]}
    wrong = [f"the lint did not find {name}: {bad[name].strip()}" for name in sorted(set(bad) - found)]
    wrong += [f"the lint complains of {name}, which is good" for name in sorted(found - set(bad))]
    wrong += [f"the lint did not find that {name} has no licence" for name in sorted((set(bad) | set(exist)) - missing)]
    return wrong, len(bad)


def main():
    root, what, *rest = pathlib.Path(sys.argv[1]), *sys.argv[2:]
    wrong, seen = {"includes": check_includes, "licences": check_licences, "links": check_links,
                   "self": check_self}[what](root, *rest)
    for line in wrong:
        print(line)
    print(f"{seen} looked at, {len(wrong)} wrong")
    sys.exit(bool(wrong) or not seen)


main()
