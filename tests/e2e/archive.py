#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""archive.py - what symbols need of the machine is taken while it is there: names of the kernel's functions
(-k), and with --archive the files of programs that are gone, replaced or in a container afterwards."""
import json
import os
import re
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/lib")
from e2e import SP_REPORT, check, contains, equal, good, main, need_root, need_tool, run, trace

need_root()
need_tool("gcc", "unshare")

# Half of its time in the kernel, half in a function of its own.
PROGRAM = r"""
#include <fcntl.h>
#include <unistd.h>
static char buffer[1 << 18];
__attribute__((noinline)) static double own_work(double x) { for (int i = 0; i < 20000; i++) x = x * 0.5 + i; return x; }
int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	double x = 0;
	for (int i = 0; i < 6000; i++) {
		if (read(fd, buffer, sizeof(buffer)) < 0) return 1;
		x += own_work(x);
	}
	return x == 1;
}
"""


def build(into, name="program"):
    (into / "program.c").write_text(PROGRAM)
    good(["gcc", "-O1", "-g", into / "program.c", "-o", into / name])
    return into / name


def names(recording):
    """Functions of a recording's tree."""
    done = run([SP_REPORT, "tree", "--min", 0, recording])
    equal(done.returncode, 0, f"status of tree: {done.stderr}")
    return done.stdout


def profile(directory):
    files = sorted(directory.glob("*.h5"))
    equal(len(files), 1, f"profiles in {directory}")
    return json.loads(good([SP_REPORT, "dump", "--json", files[0]]).stdout)


def kernel(into):
    program = build(into)
    done = trace("-F", 1999, "-k", "-o", into / "out", "--", program)
    equal(done.returncode, 0, done.stderr)
    dump = profile(into / "out")
    symbols = dump["kernel_symbols"]
    check(symbols and all(one["name"] and one["end"] - one["address"] < 1 << 18 for one in symbols if one["end"]), f"kernel symbols: {symbols}")
    # The kernel's own list says the same.
    known = {(int(a, 16), n) for a, n in re.findall(r"^(\S+) \S (\S+)", open("/proc/kallsyms").read(), re.M)}
    missing = [one for one in symbols if one["module"] == "" and (one["address"], one["name"]) not in known]
    check(not missing, f"not in /proc/kallsyms: {missing}")
    frames = [frame for one in dump["samples"] for frame in one["stack"][:one["kernel_frames"]]]
    inside = sum(any(s["address"] < frame <= (s["end"] or s["address"] + 4096) for s in symbols) for frame in frames)
    check(len(frames) > 30 and inside > 0.98 * len(frames), f"{inside} of {len(frames)} kernel frames have a function")
    check(any(one["kernel_frames"] for one in dump["samples"]) and any(not one["kernel_frames"] for one in dump["samples"]),
          "the kernel was never interrupted, or always")
    contains(names(into / "out"), "[k]", "own_work")
    contains(good([SP_REPORT, "info", into / "out"]).stdout, "with the kernel's")
    print(f"{len(symbols)} functions of the kernel, {len(frames)} frames")


def gone(into):
    """Deleted while it runs, and another one in its place."""
    program = build(into)
    done = trace("-F", 1999, "--archive", "-o", into / "out", "--", "sh", "-c",
                 f"{program} & sleep 0.05; rm {program}; cp /bin/true {program}; wait")
    equal(done.returncode, 0, done.stderr)
    contains(done.stderr, "archive: ")
    rows = [one for one in profile(into / "out")["modules"] if one["path"] == str(program)]
    check(rows and all(one["archived"].startswith("archive/") for one in rows), f"modules: {rows}")
    copy = into / "out" / rows[0]["archived"]
    build(into, "again")
    equal(copy.read_bytes(), (into / "again").read_bytes(), "the copy")
    contains(names(into / "out"), "own_work")
    # Lines are those of the copy, whatever was built in its place since.
    good(["gcc", "-O0", "-g", into / "program.c", "-o", program])
    text = good([SP_REPORT, "lines", "--annotate", "program.c", into / "out"]).stdout
    check(re.search(r"(?m)^ +\d+ +\d+\.\d % +\d+ .* own_work\(double x\)", text), text)
    check("not the build that was recorded" not in text, text)
    os.rename(into / "out", into / "elsewhere")  # a recording is a directory that can be moved
    contains(names(into / "elsewhere"), "own_work")
    # Without the copies nobody knows.
    good(["rm", "-r", into / "elsewhere/archive"])
    text = names(into / "elsewhere")
    check("own_work" not in text and "not the build that was recorded" in text, text)


def vdso(into):
    """The kernel's code in every process is no file, but the same as ours while this kernel runs."""
    (into / "clock.c").write_text("#include <time.h>\nint main(void) { struct timespec t; for (int i = 0; i < 20000000; i++) "
                                  "clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_nsec == 1; }\n")
    good(["gcc", "-O1", "-g", into / "clock.c", "-o", into / "clock"])
    done = trace("-F", 499, "-o", into / "out", "--", into / "clock")
    equal(done.returncode, 0, done.stderr)
    ids = {one["build_id"] for one in profile(into / "out")["modules"] if one["path"] == "[vdso]"}
    if ids in (set(), {""}):
        print("the vDSO was not seen, or has no build-id")
        return
    contains(names(into / "out"), "__vdso_clock_gettime")


def container(into):
    """Its path leads to nothing outside."""
    (into / "inner").mkdir()
    build(into / "inner")
    (into / "place").mkdir()
    command = ["unshare", "-m", "sh", "-c", f"mount --bind {into}/inner {into}/place && exec {into}/place/program"]
    if run(command).returncode:
        print("no mount namespaces here")
        return
    done = trace("-F", 1999, "-o", into / "without", "--", *command)
    equal(done.returncode, 0, done.stderr)
    text = names(into / "without")
    contains(text, "it was out of reach while it ran, as in a container: sp-trace --archive keeps a copy")
    check("own_work" not in text, text)
    done = trace("-F", 1999, "--archive", "-o", into / "with", "--", *command)
    equal(done.returncode, 0, done.stderr)
    contains(names(into / "with"), "own_work")


def changed_root(into):
    """Its files are here, too, under other paths than it knows: no copies are needed."""
    root = into / "root"
    (root / "opt").mkdir(parents=True)
    (root / "dev").mkdir()
    (root / "dev/zero").touch()
    program = build(into)
    for file in re.findall(r"(/\S+) \(0x", good(["ldd", program]).stdout):
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        good(["cp", file, root / file[1:]])  # newer than the one here of the same name
    os.rename(program, root / "opt/inner_program")
    done = trace("-F", 1999, "-o", into / "out", "--", "chroot", root, "/opt/inner_program")
    equal(done.returncode, 0, done.stderr)
    contains(names(into / "out"), "own_work")
    paths = {one["path"] for one in profile(into / "out")["modules"]}
    check(str(root / "opt/inner_program") in paths, f"modules: {paths}")
    check(any(path.startswith(f"{root}/") and "libc.so" in path for path in paths), f"modules: {paths}")


def no_build_id(into):
    """What tells the build from others is then all that is in the file."""
    (into / "program.c").write_text(PROGRAM)
    program = into / "program"

    def link(more=""):
        (into / "again.c").write_text(more + PROGRAM.replace("own_work", "other_work") if more else PROGRAM)
        good(["gcc", "-O1", "-g", "-Wl,--build-id=none", into / "again.c", "-o", program])

    link()
    done = trace("-F", 1999, "-o", into / "out", "--", program)
    equal(done.returncode, 0, done.stderr)
    contains(names(into / "out"), "own_work")
    good(["cp", program, into / "copy"])
    os.rename(into / "copy", program)
    text = names(into / "out")
    check("own_work" in text and "note:" not in text, f"copied: {text}")
    link(more="int more(int x) { return x * 3; }\n")
    text = names(into / "out")
    contains(text, "is not the build that was recorded (it has no build-id, and not the content that was recorded)")
    check("other_work" not in text, f"built anew: {text}")
    # Built anew before the files were made: nobody knows what it was.
    done = trace("-F", 1999, "-o", into / "late", "--", "sh", "-c",
                 f"cp {program} {into}/prog2; {into}/prog2; rm {into}/prog2; cp /bin/true {into}/prog2")
    row, = [one for one in profile(into / "late")["modules"] if one["path"] == str(into / "prog2")]
    equal(row["build_id"], "content-lost", "id of a file that was replaced")


main(no_build_id, kernel, gone, vdso, container, changed_root)
