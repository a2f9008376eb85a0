# SPDX-License-Identifier: BSD-2-Clause
"""list_test.py - what `sp-trace --list` prints: for files, for processes, and where there is nothing."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys

import programs

failures = 0


def check(condition, *what):
    global failures
    if not condition:
        failures += 1
        print("not true:", *what, file=sys.stderr)


def run(tool, *arguments, **options):
    r = subprocess.run([tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def expected(work):
    """The table, from the sources: each line that begins a region, in order of file and line."""
    rows = []
    for file, text in (("main.c", programs.MAIN), ("other.c", programs.OTHER)):
        function = ""
        for number, line in enumerate(text.split("\n"), 1):
            m = re.match(r"(?:static |inline |__attribute__\(\(always_inline\)\) )*int (\w+)\(", line)
            function = m[1] if m else function
            m = re.search(r'SP_REGION_(BEGIN|SCOPE|FUNCTION)(?:_TAGGED)?\((?:"((?:\\.|[^"\\])*)")?(?:, "(.*)")?\);', line)
            if not m:
                continue
            name = (m[2] or function).replace(r"\xc3\xbc", "\u00fc").replace(r"\"", '"').replace(r"\\", "\\")
            rows.append((name, {"BEGIN": "block", "SCOPE": "scope", "FUNCTION": "function"}[m[1]],
                         "%s/%s:%d" % (work, file, number), m[3] or ""))
    return rows


def table(rows, armed=None):
    head = ("REGION", "KIND", "WHERE", "TAGS")
    widths = [max(len(r[i]) for r in [head] + rows) for i in (0, 2)]
    lines = []
    for r in [head] + rows:
        status = "" if armed is None else "%-9s" % ("ARMED" if r == head else armed)
        lines.append(("  %-*s  %-10s%s%-*s  %s" % (widths[0], r[0], r[1], status, widths[1], r[2], r[3])).rstrip())
    return "\n".join(lines) + "\n"


TRAILER = "\nNames that the program makes at run time are not in its files and so not listed.\n"


def test_file(tool, pie):
    status, out, err = run(tool, pie)
    rows = expected(args.work)
    check(len(rows) == 6, rows)
    check((status, err) == (0, ""), status, err)
    check(out == "%s: 6 regions\n" % pie + table(rows) + TRAILER, "\n" + out, "\nrather than\n" + table(rows))


def start(path):
    p = subprocess.Popen([path, "wait"], stdout=subprocess.PIPE)
    p.stdout.read(5)
    return p


def stop(p):
    p.send_signal(signal.SIGKILL)
    p.wait()
    p.stdout.close()


def test_process(tool):
    """Not armed, then armed by the program's own hand: all link kinds have their own way to the memory."""
    arm = programs.MAIN.replace("if (argc > 1) {", "if (argc > 1) {\n\t\tsp_begin_sema_v1 = 1;")
    other = os.path.join(args.work, "other.c")
    armed_main = programs.write(os.path.join(args.work, "armed.c"), arm)
    for name in ("pie", "nopie", "static", "lld", "lld-nopie"):
        path = programs.build(args.work, args.include, name)
        armed = programs.build(args.work, args.include, "armed-" + name, programs.LINKS[name], [armed_main, other])
        for path, word in ((path, "no"), (armed, "yes")):
            if not path:
                continue
            p = start(path)
            status, out, err = run(tool, "-p", str(p.pid))
            stop(p)
            check((status, err) == (0, ""), name, status, err)
            title = "armed: a recorder is attached" if word == "yes" else "not armed"
            check(out.startswith("%s: 6 regions, %s\n" % (path, title)), name, out)
            if word == "no":
                check(table(expected(args.work), "no") in out, name, "\n" + out)


def test_library(tool):
    """Regions of a library that the program has loaded; the program itself has none."""
    lib = programs.build(args.work, args.include, "liblist.so", ["gcc", "-O2", "-fPIC", "-shared"],
                         [programs.write(os.path.join(args.work, "liblist.c"),
                                         programs.OTHER.replace("other", "list_other"))])
    main = programs.write(os.path.join(args.work, "uselib.c"),
                          '#include <unistd.h>\nint list_other(int x);\nint main(void)\n{\n\twrite(1, "ready", 5);\n'
                          '\tpause();\n\treturn list_other(1);\n}\n')
    path = programs.build(args.work, args.include, "uselib", ["gcc"], [main], [lib])
    p = start(path)
    status, out, err = run(tool, "-p", str(p.pid))
    check((status, err) == (0, "") and out.startswith(lib + ": 2 regions, not armed\n"), status, out, err)
    # Its file is replaced: the process still has the old one.
    shutil.copy(lib, lib + ".new")
    os.rename(lib + ".new", lib)
    status, out, err = run(tool, "-p", str(p.pid))
    if os.geteuid() == 0:
        check(status == 0 and out.startswith(lib + ": 2 regions, not armed\n"), status, out, err)
    else:
        check("could not be opened" in err, err)
    stop(p)


def test_nothing(tool):
    status, out, err = run(tool, "/bin/true")
    check(status == 0 and "No regions" in out and "SP_REGION_BEGIN" in out and not err, status, out, err)
    p = subprocess.Popen(["sleep", "100"])
    status, out, err = run(tool, "-p", str(p.pid))
    check(status == 0 and ("Process %d has no regions" % p.pid) in out, status, out, err)
    p.kill()
    p.wait()
    for arguments, word in ((["/nowhere/at/all"], "No such file"), ([__file__], "not an ELF file"),
                            ([args.work], "not an ELF file"), (["-p", "999999999"], "there is no process"),
                            (["/dev/null"], "not an ELF file")):
        status, out, err = run(tool, *arguments)
        check(status == 1 and not out and word in err and err.startswith("sp-trace: "), arguments, status, out, err)


def test_hostile_names(tool):
    """What a terminal would act upon is shown, not sent."""
    text = '#include "sp_region.h"\nint main(void)\n{\n\tSP_REGION_SCOPE("evil \\033]0;x\\007 \\r\\n name");\n\treturn 0;\n}\n'
    source = programs.write(os.path.join(args.work, "evil.c"), text)
    path = programs.build(args.work, args.include, "evil\033[31m", ["gcc"], [source])
    status, out, err = run(tool, path)
    check(status == 0 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", out), repr(out))
    check(r"evil \x1b]0;x\x07" in out, repr(out))


def test_unprivileged(tool):
    """Somebody else's process, and one's own, as an ordinary user."""
    def nobody():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)

    status, out, err = run(tool, "-p", str(os.getpid()), preexec_fn=nobody)
    check(status == 1 and "sudo" in err, status, out, err)
    p = subprocess.Popen(["sleep", "100"], preexec_fn=nobody)
    status, out, err = run(tool, "-p", str(p.pid), preexec_fn=nobody)
    check(status == 0 and "has no regions" in out, status, out, err)
    p.kill()
    p.wait()


def main():
    # Beside its helper, as it is installed.
    os.makedirs(args.work, exist_ok=True)
    tool = os.path.join(args.work, "list_tool")
    for path, name in ((args.list, "list_tool"), (args.helper, "sp-elf")):
        shutil.copy(path, os.path.join(args.work, name))
    pie = programs.build(args.work, args.include, "pie")
    test_file(tool, pie)
    test_process(tool)
    test_library(tool)
    test_nothing(tool)
    test_hostile_names(tool)
    if os.geteuid() == 0:
        public = "/tmp/sp-list-test-%d" % os.getpid()
        os.makedirs(public, mode=0o755)
        for path, name in ((args.list, "list_tool"), (args.helper, "sp-elf")):
            shutil.copy(path, os.path.join(public, name))
        test_unprivileged(os.path.join(public, "list_tool"))
        shutil.rmtree(public)
    print("failures:", failures)
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("list", "helper", "include", "work"):
        parser.add_argument("--" + option, required=True)
    args = parser.parse_args()
    if not programs.have("gcc"):
        print("gcc is missing")
        sys.exit(77)
    sys.exit(main())
